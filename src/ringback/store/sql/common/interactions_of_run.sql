-- All questions of a run, oldest first.
SELECT *
FROM interactions
WHERE run_id = :run_id
ORDER BY opened_at, interaction_id
