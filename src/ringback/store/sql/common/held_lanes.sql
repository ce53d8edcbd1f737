-- Attempts under way, by project and lane.
SELECT project_id, lane, COUNT(*) AS held
FROM runs
WHERE session_id IS NOT NULL
GROUP BY project_id, lane
