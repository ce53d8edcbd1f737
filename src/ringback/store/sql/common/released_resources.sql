-- The resources of a project with the revision that each channel points to.
SELECT resources.resource_type, resources.name, resources.resource_id,
    channels.name AS channel, channels.revision_id, revisions.definition
FROM resources
JOIN channels ON channels.resource_id = resources.resource_id
JOIN revisions ON revisions.revision_id = channels.revision_id
WHERE resources.project_id = :project_id
ORDER BY resources.resource_type, resources.name, channels.name
