-- Record a worker's attach.
INSERT INTO sessions (
    session_id, name, incarnation, slots, offers, labels, capabilities, attached_at, heartbeat_at, lease_until, epoch,
    ended_at, end_reason
) VALUES (
    :session_id, :name, :incarnation, :slots, :offers, :labels, :capabilities, :attached_at, :heartbeat_at, :lease_until, :epoch,
    :ended_at, :end_reason
)
