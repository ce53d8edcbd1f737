-- The published endpoints of a project.
SELECT path, tool, published_by, published_at
FROM endpoints
WHERE project_id = :project_id
ORDER BY path
LIMIT 1000
