-- Retention: a run goes whole.
DELETE FROM idempotency_keys
WHERE run_id = :run_id
