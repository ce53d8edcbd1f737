-- Retention: a run goes whole.
DELETE FROM inbox
WHERE run_id = :run_id
