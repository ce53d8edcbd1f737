-- Runs of one status that have not ended, newest first. The condition on the end leads to the index of open runs.
SELECT *
FROM runs
WHERE project_id = :project_id
  AND status = :status
  AND ended_at IS NULL
  AND run_id < :before
  AND (:tool IS NULL OR tool = :tool)
ORDER BY run_id DESC
LIMIT :limit
