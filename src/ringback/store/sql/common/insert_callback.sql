-- Open a callback address for a run's job; one that is open already stays as it is.
INSERT INTO callbacks (run_id, start_no, digest, salt, attempt_id, secret, opened_at)
VALUES (:run_id, :start_no, :digest, :salt, :attempt_id, :secret, :opened_at)
ON CONFLICT (run_id, start_no) DO NOTHING
