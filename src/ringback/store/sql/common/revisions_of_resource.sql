-- The revisions of a resource, newest first.
SELECT revision_id, created_at
FROM revisions
WHERE resource_id = :resource_id
ORDER BY created_at DESC, revision_id
LIMIT 1000
