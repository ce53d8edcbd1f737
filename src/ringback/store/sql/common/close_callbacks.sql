-- A run's later job takes the place of its earlier ones: their addresses take nothing any more.
UPDATE callbacks
SET closed_at = :now
WHERE run_id = :run_id
  AND start_no < :start_no
  AND closed_at IS NULL
