-- The first ready runs of a lane, in the order in which they should go.
SELECT run_id, project_id, lane, priority, ready_at, policy
FROM runs
WHERE ready_at IS NOT NULL
  AND project_id = :project_id
  AND lane = :lane
ORDER BY priority DESC, ready_at, run_id
LIMIT :limit
