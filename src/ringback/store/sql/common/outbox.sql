-- What is still to be done, oldest first.
SELECT position, topic, run_id
FROM outbox
ORDER BY position
LIMIT :limit
