-- A run has ended: what it still asked is withdrawn.
UPDATE interactions
SET status = 'withdrawn',
    closed_at = :now
WHERE run_id = :run_id
  AND status = 'open'
