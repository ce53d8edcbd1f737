-- Link two runs; linking them again changes nothing.
INSERT INTO run_links (from_run_id, to_run_id, relation, created_at)
VALUES (:from_run_id, :to_run_id, :relation, :created_at)
ON CONFLICT (from_run_id, relation, to_run_id) DO NOTHING
