-- A used idempotency key.
SELECT fingerprint, run_id, created_at
FROM idempotency_keys
WHERE project_id = :project_id
  AND owner = :owner
  AND key = :key
