-- One run space.
SELECT *
FROM run_spaces
WHERE run_space_id = :run_space_id
