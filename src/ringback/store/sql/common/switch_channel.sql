-- Point a channel at a revision.
INSERT INTO channels (resource_id, name, revision_id, version, switched_at)
VALUES (:resource_id, :name, :revision_id, 1, :switched_at)
ON CONFLICT (resource_id, name)
DO UPDATE SET revision_id = excluded.revision_id, version = channels.version + 1, switched_at = excluded.switched_at
