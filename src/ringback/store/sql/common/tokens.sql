-- All tokens, newest first; nothing of the tokens themselves.
SELECT token_id, name, owner, user_id, scopes, project_id, created_at, expires_at, revoked_at, last_used_at
FROM tokens
ORDER BY created_at DESC, token_id DESC
