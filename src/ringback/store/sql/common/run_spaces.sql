-- Run spaces of a project, the newest first; of one run, or in one status, if asked.
SELECT *
FROM run_spaces
WHERE project_id = :project_id
  AND position < :before
  AND (:run_id IS NULL OR run_id = :run_id)
  AND (:status IS NULL OR status = :status)
ORDER BY position DESC
LIMIT :limit
