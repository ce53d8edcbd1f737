-- A path of a project starts this tool from now on.
INSERT INTO endpoints (project_id, path, tool, published_by, published_at)
VALUES (:project_id, :path, :tool, :published_by, :published_at)
ON CONFLICT (project_id, path)
DO UPDATE SET tool = excluded.tool, published_by = excluded.published_by, published_at = excluded.published_at
