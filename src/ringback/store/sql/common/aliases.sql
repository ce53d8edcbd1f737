-- The names that stand for resources in a project.
SELECT project_id, alias, resource_type, target, channel, grant_id, created_at, created_by
FROM aliases
WHERE project_id = :project_id
ORDER BY alias
