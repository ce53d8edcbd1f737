-- Save what the next attempt of a run should find.
INSERT INTO checkpoints (run_id, value, saved_at)
VALUES (:run_id, :value, :saved_at)
ON CONFLICT (run_id) DO UPDATE SET value = excluded.value, saved_at = excluded.saved_at
