-- Retention: a run goes whole.
DELETE FROM run_spaces
WHERE run_id = :run_id
