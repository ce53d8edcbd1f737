-- A request takes the name of a question; who was faster keeps it.
INSERT INTO asked_keys (run_id, fence, key, request_id)
VALUES (:run_id, :fence, :key, :request_id)
ON CONFLICT DO NOTHING
