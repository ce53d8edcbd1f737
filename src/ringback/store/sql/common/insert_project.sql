-- Make a project, unless its slug is taken.
INSERT INTO projects (project_id, org_id, slug, name, created_at)
VALUES (:project_id, :org_id, :slug, :name, :created_at)
ON CONFLICT (slug) DO NOTHING
