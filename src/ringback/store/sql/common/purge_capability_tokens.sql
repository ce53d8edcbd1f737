-- Retention: a run goes whole.
DELETE FROM capability_tokens
WHERE run_id = :run_id
