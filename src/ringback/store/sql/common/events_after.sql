-- Events of a run behind a sequence, in order.
SELECT position, run_id, sequence, project_id, type, created_at, body, data
FROM run_events
WHERE run_id = :run_id
  AND sequence > :after
ORDER BY sequence
LIMIT :limit
