-- Retention: a run goes whole.
DELETE FROM continuations
WHERE run_id = :run_id
