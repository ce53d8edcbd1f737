-- Queues that are paused.
SELECT project_id, pool, since, paused_by
FROM pauses
ORDER BY project_id, pool
