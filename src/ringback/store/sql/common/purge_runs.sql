-- Retention: a run goes whole.
DELETE FROM runs
WHERE run_id = :run_id
