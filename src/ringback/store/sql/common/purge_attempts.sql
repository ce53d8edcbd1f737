-- Retention: a run goes whole.
DELETE FROM attempts
WHERE run_id = :run_id
