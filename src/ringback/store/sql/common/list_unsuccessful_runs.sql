-- Runs that failed or were canceled, newest first. Naming both statuses leads to their index.
SELECT *
FROM runs
WHERE project_id = :project_id
  AND status = :status
  AND status IN ('failed', 'canceled')
  AND run_id < :before
  AND (:tool IS NULL OR tool = :tool)
ORDER BY run_id DESC
LIMIT :limit
