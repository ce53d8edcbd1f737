-- Every resource of a project, released or not.
SELECT resource_id, resource_type, name, created_at
FROM resources
WHERE project_id = :project_id
ORDER BY resource_type, name
