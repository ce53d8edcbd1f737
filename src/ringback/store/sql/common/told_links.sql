-- Links from a span of runs.
SELECT from_run_id AS run_id, relation, to_run_id
FROM run_links
WHERE from_run_id > :after
  AND from_run_id <= :last
ORDER BY from_run_id
