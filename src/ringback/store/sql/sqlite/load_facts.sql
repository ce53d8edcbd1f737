-- Differs from postgres: a list comes as a JSON array.
SELECT run_facts.*, runs.project_id, runs.policy
FROM run_facts
JOIN runs USING (run_id)
WHERE run_id IN (SELECT value FROM json_each(:ids))
