-- Runs that succeeded, newest first. Most runs do, so a walk along all of them finds a page soon.
SELECT *
FROM runs
WHERE project_id = :project_id
  AND status = :status
  AND run_id < :before
  AND (:tool IS NULL OR tool = :tool)
ORDER BY run_id DESC
LIMIT :limit
