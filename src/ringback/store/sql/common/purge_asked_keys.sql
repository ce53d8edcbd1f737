-- Retention: a run goes whole.
DELETE FROM asked_keys
WHERE run_id = :run_id
