-- Record a revision; the same content has the same id.
INSERT INTO revisions (revision_id, resource_id, definition, created_at)
VALUES (:revision_id, :resource_id, :definition, :created_at)
ON CONFLICT (revision_id) DO NOTHING
