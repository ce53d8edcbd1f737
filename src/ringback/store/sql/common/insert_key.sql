-- Remember an idempotency key with the run that it started.
INSERT INTO idempotency_keys (project_id, owner, key, fingerprint, run_id, created_at)
VALUES (:project_id, :owner, :key, :fingerprint, :run_id, :created_at)
