-- A token was used.
UPDATE tokens
SET last_used_at = :now
WHERE token_id = :token_id
