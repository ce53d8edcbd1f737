-- A link opens nothing any more.
UPDATE answer_links
SET revoked_at = :now
WHERE link_id = :link_id
  AND revoked_at IS NULL
