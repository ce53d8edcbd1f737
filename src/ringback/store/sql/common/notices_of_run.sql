-- Whether a caller is still to be told of a run.
SELECT item_id
FROM inbox
WHERE run_id = :run_id
  AND owner = :owner
  AND state = 'pending'
