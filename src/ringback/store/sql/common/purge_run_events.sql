-- Retention: a run goes whole.
DELETE FROM run_events
WHERE run_id = :run_id
