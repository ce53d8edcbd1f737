-- Links that lead to a run.
SELECT from_run_id, to_run_id, relation, created_at
FROM run_links
WHERE to_run_id = :run_id
  AND (:relation IS NULL OR relation = :relation)
ORDER BY created_at, from_run_id
