-- Make a channel that points nowhere yet, unless it is there.
INSERT INTO channels (resource_id, name, revision_id, version, switched_at)
VALUES (:resource_id, :name, NULL, 0, :switched_at)
ON CONFLICT (resource_id, name) DO NOTHING
