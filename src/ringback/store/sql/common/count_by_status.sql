-- Open runs by project and status.
SELECT project_id, status, COUNT(*) AS runs
FROM runs
WHERE ended_at IS NULL
GROUP BY project_id, status
