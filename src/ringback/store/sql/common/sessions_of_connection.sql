-- The last attaches of one runtime, the very last one first; all of them or those that are not over.
SELECT *
FROM sessions
WHERE connection_id = :connection_id
  AND (:live_only = 0 OR ended_at IS NULL)
ORDER BY epoch DESC
LIMIT 100
