-- A link was used: its question was answered through it, in the same transaction.
UPDATE answer_links
SET used_at = :now
WHERE link_id = :link_id
  AND used_at IS NULL
