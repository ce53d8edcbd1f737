-- What is still to be done, oldest first.
SELECT position, topic, run_id, created_at
FROM outbox
ORDER BY position
LIMIT :limit
