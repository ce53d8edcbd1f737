-- A resource of a project, whether or not any channel points to a revision of it.
SELECT resource_id, resource_type, name, created_at
FROM resources
WHERE project_id = :project_id
  AND resource_type = :resource_type
  AND name = :name
