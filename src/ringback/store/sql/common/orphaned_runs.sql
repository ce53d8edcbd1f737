-- Runs whose attempt is held by a session that is over.
SELECT runs.run_id, runs.fence, sessions.end_reason
FROM sessions
JOIN runs ON runs.session_id = sessions.session_id
WHERE sessions.ended_at IS NOT NULL
  AND runs.session_id IS NOT NULL
LIMIT :limit
