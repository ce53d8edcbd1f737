-- A question is asked.
INSERT INTO interactions (interaction_id, run_id, kind, blocking, status, prompt, expires_at, opened_at)
VALUES (:interaction_id, :run_id, :kind, :blocking, 'open', :prompt, :expires_at, :opened_at)
