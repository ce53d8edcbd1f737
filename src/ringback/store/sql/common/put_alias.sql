-- Make a name stand for a resource, or for another one than before.
INSERT INTO aliases (project_id, alias, resource_type, target, channel, grant_id, created_at, created_by)
VALUES (:project_id, :alias, :resource_type, :target, :channel, :grant_id, :created_at, :created_by)
ON CONFLICT (project_id, alias)
DO UPDATE SET resource_type = excluded.resource_type, target = excluded.target, channel = excluded.channel,
    grant_id = excluded.grant_id, created_at = excluded.created_at, created_by = excluded.created_by
