-- A question of a run.
INSERT INTO interactions (interaction_id, run_id, kind, blocking, status, prompt, opened_at)
VALUES (:interaction_id, :run_id, :kind, :blocking, :status, :prompt, :opened_at)
