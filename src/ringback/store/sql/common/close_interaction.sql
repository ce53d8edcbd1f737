-- A question is answered, or its time is over.
UPDATE interactions
SET status = :status,
    closed_at = :now,
    response = :response
WHERE interaction_id = :interaction_id
  AND status = 'open'
