-- Retention: a run goes whole.
DELETE FROM run_facts
WHERE run_id = :run_id
