-- Runs that retention may remove: ended long ago. Served from an index on the end.
SELECT run_id
FROM runs
WHERE ended_at IS NOT NULL
  AND ended_at <= :ended_before
ORDER BY ended_at
LIMIT :limit
