-- Runs that retention may remove: ended long ago. Ids sort by creation, so the walk stops at the first that is too young.
SELECT run_id
FROM runs
WHERE ended_at IS NOT NULL
  AND ended_at <= :ended_before
  AND run_id < :created_before
ORDER BY run_id
LIMIT :limit
