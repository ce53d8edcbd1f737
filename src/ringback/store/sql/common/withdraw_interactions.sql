-- An attempt or its run has ended: what was asked by then is withdrawn. What the attempt after it asks is not.
UPDATE interactions
SET status = 'withdrawn',
    closed_at = :now
WHERE run_id = :run_id
  AND status = 'open'
  AND opened_at <= :asked_by
