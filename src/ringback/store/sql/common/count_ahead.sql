-- How many ready runs of its lane go before a run.
SELECT COUNT(*) AS ahead
FROM runs
WHERE ready_at IS NOT NULL
  AND project_id = :project_id
  AND lane = :lane
  AND (priority > :priority OR (priority = :priority AND (ready_at, run_id) < (:ready_at, :run_id)))
