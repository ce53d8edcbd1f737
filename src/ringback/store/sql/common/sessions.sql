-- Worker sessions, newest first; all of them or those that are not over.
SELECT *
FROM sessions
WHERE (:live_only = 0 OR ended_at IS NULL)
ORDER BY attached_at DESC, session_id DESC
LIMIT 1000
