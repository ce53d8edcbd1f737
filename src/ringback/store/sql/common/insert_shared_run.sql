-- Note which project started a run of another one, and by which grant it may look at it.
INSERT INTO shared_runs (run_id, grant_id, project_id)
VALUES (:run_id, :grant_id, :project_id)
