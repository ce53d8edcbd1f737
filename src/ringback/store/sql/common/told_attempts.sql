-- Ended attempts of a span of runs.
SELECT run_id, attempt_no, attempt, ended_at, outcome, error
FROM attempts
WHERE run_id > :after
  AND run_id <= :last
ORDER BY run_id, attempt_no
