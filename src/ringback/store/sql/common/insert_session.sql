-- Record a worker's attach. What was agreed there is never updated: attempts refer to it.
INSERT INTO sessions (
    session_id, name, incarnation, slots, offers, labels, attached_at, heartbeat_at, lease_until, connection_id, epoch,
    protocol_version, capability_set, attached_by, provider, ended_at, end_reason
) VALUES (
    :session_id, :name, :incarnation, :slots, :offers, :labels, :attached_at, :heartbeat_at, :lease_until, :connection_id, :epoch,
    :protocol_version, :capability_set, :attached_by, :provider, :ended_at, :end_reason
)
