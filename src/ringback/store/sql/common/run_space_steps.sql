-- The steps of a run space's life, oldest first.
SELECT status, at
FROM run_space_steps
WHERE run_space_id = :run_space_id
ORDER BY position
