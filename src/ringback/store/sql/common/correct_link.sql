-- Link a run again to one that it started, if that is still there.
INSERT INTO run_links (from_run_id, to_run_id, relation, created_at)
SELECT :run_id, run_id, :relation, :created_at
FROM runs
WHERE run_id = :to_run_id
