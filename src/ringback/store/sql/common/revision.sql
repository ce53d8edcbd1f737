-- One revision with the resource that it belongs to.
SELECT resources.resource_type, resources.name, resources.resource_id, resources.project_id,
    revisions.revision_id, revisions.definition, revisions.created_at
FROM revisions
JOIN resources ON resources.resource_id = revisions.resource_id
WHERE revisions.revision_id = :revision_id
