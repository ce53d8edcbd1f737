-- Forget who else could see a run that is removed.
DELETE FROM shared_runs
WHERE run_id = :run_id
