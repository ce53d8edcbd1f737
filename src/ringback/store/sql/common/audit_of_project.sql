-- What was changed in a project, or (without one) about the installation, newest first.
SELECT position, at, actor, action, subject, facts
FROM audit
WHERE project_id IS :project_id AND position < :before
ORDER BY position DESC
LIMIT :limit
