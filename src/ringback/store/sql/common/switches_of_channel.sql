-- Where a channel pointed, newest first.
SELECT position, at, actor, facts
FROM audit
WHERE project_id = :project_id
  AND subject = :subject
  AND action = 'channel.switched'
  AND position < :before
ORDER BY position DESC
LIMIT :limit
