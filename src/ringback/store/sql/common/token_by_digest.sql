-- A token by its keyed hash.
SELECT token_id, owner, scopes, project_id, expires_at, revoked_at, last_used_at
FROM tokens
WHERE digest = :digest
