-- End a token; a repetition changes nothing.
UPDATE tokens
SET revoked_at = :now
WHERE token_id = :token_id AND revoked_at IS NULL
