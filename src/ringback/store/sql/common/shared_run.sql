-- By which grant a project may look at a run of another one.
SELECT grant_id
FROM shared_runs
WHERE run_id = :run_id
  AND project_id = :project_id
