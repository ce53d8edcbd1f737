-- What a path of a project starts.
SELECT path, tool, published_by, published_at
FROM endpoints
WHERE project_id = :project_id
  AND path = :path
