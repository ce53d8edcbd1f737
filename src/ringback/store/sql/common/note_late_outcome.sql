-- Keep what a superseded worker brought, as evidence on its own attempt; the run is not touched.
UPDATE attempts
SET late = :late
WHERE run_id = :run_id
  AND attempt_no = (SELECT MAX(attempt_no) FROM attempts WHERE run_id = :run_id AND CAST(attempt ->> 'fence' AS INTEGER) = :fence)
  AND late IS NULL
