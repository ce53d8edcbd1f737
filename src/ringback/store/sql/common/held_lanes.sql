-- Attempts under way, by project and lane. The comparison with '' makes it a search among held runs; IS NOT NULL would let a
-- planner group along an index of all runs.
SELECT project_id, lane, COUNT(*) AS held
FROM runs
WHERE session_id > ''
GROUP BY project_id, lane
