-- What the last attempt of a run saved.
SELECT value
FROM checkpoints
WHERE run_id = :run_id
