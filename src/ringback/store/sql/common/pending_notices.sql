-- What a caller has not been told yet, oldest first, with the runs as they are.
SELECT inbox.position, inbox.item_id, inbox.kind, inbox.sequence, inbox.created_at AS noticed_at, runs.*
FROM inbox
JOIN runs USING (run_id)
WHERE inbox.project_id = :project_id
  AND inbox.owner = :owner
  AND inbox.state = 'pending'
  AND inbox.position > :after
  AND (:thread_id IS NULL OR inbox.thread_id = :thread_id)
ORDER BY inbox.position
LIMIT :limit
