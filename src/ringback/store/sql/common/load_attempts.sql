-- Ended attempts of a run, oldest first.
SELECT attempt, ended_at, outcome, error
FROM attempts
WHERE run_id = :run_id
ORDER BY attempt_no
