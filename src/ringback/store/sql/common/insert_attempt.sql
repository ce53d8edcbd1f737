-- Put an ended attempt into the record.
INSERT INTO attempts (run_id, attempt_no, attempt, ended_at, outcome, error)
VALUES (:run_id, :attempt_no, :attempt, :ended_at, :outcome, :error)
