-- A capability token by its keyed hash.
SELECT token_id, run_id, expires_at, revoked_at
FROM capability_tokens
WHERE digest = :digest
