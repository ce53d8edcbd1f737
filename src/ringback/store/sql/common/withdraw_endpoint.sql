-- A path of a project starts nothing any more.
DELETE FROM endpoints
WHERE project_id = :project_id
  AND path = :path
