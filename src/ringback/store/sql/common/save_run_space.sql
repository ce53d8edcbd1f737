-- The next step of a run space, unless it has gone another way meanwhile.
UPDATE run_spaces
SET status = :status,
    locator = coalesce(:locator, locator),
    reason = coalesce(:reason, reason),
    kept = :kept,
    changed_at = :now
WHERE run_space_id = :run_space_id
  AND status = :before
