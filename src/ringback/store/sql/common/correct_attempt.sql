-- Bring an ended attempt in line with the events of its run.
UPDATE attempts
SET attempt = :attempt,
    ended_at = :ended_at,
    outcome = :outcome,
    error = :error
WHERE run_id = :run_id
  AND attempt_no = :attempt_no
