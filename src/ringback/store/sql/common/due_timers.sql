-- Runs at which the ledger must look again. Only candidates: each is loaded and decided again.
SELECT run_id
FROM runs
WHERE timer_at IS NOT NULL
  AND timer_at <= :now
ORDER BY timer_at
LIMIT :limit
