-- All projects, oldest first.
SELECT project_id, org_id, slug, name, created_at
FROM projects
ORDER BY created_at, project_id
