-- Its reader has the result already.
UPDATE inbox
SET state = 'suppressed',
    settled_at = :now
WHERE run_id = :run_id
  AND owner = :owner
  AND state = 'pending'
