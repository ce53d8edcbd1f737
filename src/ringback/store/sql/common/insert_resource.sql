-- Make a resource, unless its name is taken.
INSERT INTO resources (resource_id, project_id, resource_type, name, created_at)
VALUES (:resource_id, :project_id, :resource_type, :name, :created_at)
ON CONFLICT (project_id, resource_type, name) DO NOTHING
