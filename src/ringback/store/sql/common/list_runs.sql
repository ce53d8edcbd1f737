-- Runs of a project, newest first; ids sort by creation.
SELECT *
FROM runs
WHERE project_id = :project_id
  AND run_id < :before
  AND (:tool IS NULL OR tool = :tool)
ORDER BY run_id DESC
LIMIT :limit
