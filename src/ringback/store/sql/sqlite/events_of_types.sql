-- Differs from postgres: a list comes as a JSON array.
SELECT position, run_id, sequence, project_id, type, created_at, body, data
FROM run_events
WHERE run_id = :run_id
  AND sequence > :after
  AND type IN (SELECT value FROM json_each(:types))
ORDER BY sequence
LIMIT :limit
