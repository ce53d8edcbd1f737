-- Retention: a run goes whole.
DELETE FROM interactions
WHERE run_id = :run_id
