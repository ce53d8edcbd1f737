-- The capability tokens of a run, newest first.
SELECT token_id, issued_by, created_at, expires_at, revoked_at
FROM capability_tokens
WHERE run_id = :run_id
ORDER BY created_at DESC, token_id
LIMIT 1000
