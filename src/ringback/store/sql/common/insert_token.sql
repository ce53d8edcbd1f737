-- Remember a token by its keyed hash, once.
INSERT INTO tokens (token_id, digest, owner, scopes, project_id, created_at, expires_at, name, user_id)
VALUES (:token_id, :digest, :owner, :scopes, :project_id, :created_at, :expires_at, :name, :user_id)
ON CONFLICT (digest) DO NOTHING
