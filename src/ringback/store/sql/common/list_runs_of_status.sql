-- Runs of one status, newest first; served from a partial index for every status but succeeded.
SELECT *
FROM runs
WHERE project_id = :project_id
  AND status = :status
  AND run_id < :before
  AND (:tool IS NULL OR tool = :tool)
ORDER BY run_id DESC
LIMIT :limit
