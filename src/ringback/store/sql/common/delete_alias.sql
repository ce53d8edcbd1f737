-- Take a name back.
DELETE FROM aliases
WHERE project_id = :project_id
  AND alias = :alias
