-- Retention: a run goes whole, and so do the links to and from it.
DELETE FROM run_links
WHERE from_run_id = :run_id
   OR to_run_id = :run_id
