-- Events of a span of runs that tell how they stand, in order. For SQLite alone: the list of types is JSON.
SELECT run_id, sequence, project_id, position, type, created_at, body, NULL AS data
FROM run_events
WHERE run_id > :after
  AND run_id <= :last
  AND type IN (SELECT value FROM json_each(:types))
ORDER BY run_id, sequence
