-- Append to the ledger. The sequence was allocated with the run's new version in the same transaction, so it has no gaps.
INSERT INTO run_events (run_id, sequence, project_id, type, created_at, body, data)
VALUES (:run_id, :sequence, :project_id, :type, :created_at, :body, :data)
