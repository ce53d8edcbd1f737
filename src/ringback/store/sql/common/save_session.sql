-- Renew or end a session. A session that is over stays over.
UPDATE sessions
SET heartbeat_at = :heartbeat_at,
    lease_until = :lease_until,
    ended_at = :ended_at,
    end_reason = :end_reason
WHERE session_id = :session_id
  AND ended_at IS NULL
