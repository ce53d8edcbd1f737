-- Retention: a run goes whole.
DELETE FROM callbacks
WHERE run_id = :run_id
