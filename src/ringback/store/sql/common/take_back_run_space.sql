-- Its attempt is lost: whoever finds the space may clear it away.
UPDATE run_spaces
SET status = 'reclaiming',
    reason = coalesce(reason, :reason),
    changed_at = :now
WHERE run_space_id = :run_space_id
  AND status IN ('provisioning', 'ready', 'occupied')
  AND kept = 0
