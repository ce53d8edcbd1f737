-- A token by its keyed hash.
SELECT token_id, owner, scopes, project_id, expires_at, revoked_at, last_used_at, user_id
FROM tokens
WHERE digest = :digest
