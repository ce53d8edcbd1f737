-- How the questions of a span of runs stand.
SELECT run_id, interaction_id, status, closed_at
FROM interactions
WHERE run_id > :after
  AND run_id <= :last
ORDER BY run_id, opened_at
