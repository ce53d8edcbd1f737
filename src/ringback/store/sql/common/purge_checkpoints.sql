-- Retention: a run goes whole.
DELETE FROM checkpoints
WHERE run_id = :run_id
