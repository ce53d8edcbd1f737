-- End a grant; ending it again changes nothing.
UPDATE grants
SET revoked_at = :revoked_at
WHERE grant_id = :grant_id
  AND revoked_at IS NULL
