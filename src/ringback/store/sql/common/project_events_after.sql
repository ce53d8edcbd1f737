-- Events of all runs of a project in the order of their commit, behind a position.
SELECT position, run_id, sequence, project_id, type, created_at, body, data
FROM run_events
WHERE position > :after
  AND project_id = :project_id
ORDER BY position
LIMIT :limit
