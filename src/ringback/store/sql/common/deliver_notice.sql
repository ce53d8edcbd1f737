-- Its reader has it; saying so again changes nothing.
UPDATE inbox
SET state = 'delivered',
    settled_at = :now
WHERE item_id = :item_id
  AND project_id = :project_id
  AND owner = :owner
  AND state = 'pending'
