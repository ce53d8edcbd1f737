-- Runs that a claim may take, by lane.
SELECT lane, COUNT(*) AS runs
FROM runs
WHERE project_id = :project_id
  AND ready_at IS NOT NULL
GROUP BY lane
