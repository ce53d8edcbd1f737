-- Runs whose attempt a session holds.
SELECT *
FROM runs
WHERE session_id = :session_id
ORDER BY run_id
