-- What was done to one thing of a project, newest first.
SELECT position, at, actor, action, facts
FROM audit
WHERE project_id = :project_id
  AND subject = :subject
ORDER BY position DESC
LIMIT :limit
