-- Bring a question in line with the event that closed it, or that asked it.
UPDATE interactions
SET status = :status,
    closed_at = :closed_at
WHERE interaction_id = :interaction_id
