-- Ended attempts of a run, oldest first.
SELECT attempt, ended_at, outcome, error, late
FROM attempts
WHERE run_id = :run_id
ORDER BY attempt_no
