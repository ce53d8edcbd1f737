-- A capability token opens nothing any more.
UPDATE capability_tokens
SET revoked_at = :now
WHERE token_id = :token_id
  AND run_id = :run_id
  AND revoked_at IS NULL
