-- A run is opened to whoever holds a token.
INSERT INTO capability_tokens (token_id, digest, run_id, issued_by, created_at, expires_at, revoked_at)
VALUES (:token_id, :digest, :run_id, :issued_by, :created_at, :expires_at, NULL)
