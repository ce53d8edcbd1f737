-- Retention: a run goes whole.
DELETE FROM answer_links
WHERE run_id = :run_id
