-- Where the channels of a resource point.
SELECT name, revision_id, version, switched_at
FROM channels
WHERE resource_id = :resource_id
ORDER BY name
