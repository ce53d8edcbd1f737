-- Point a channel at another revision, or nowhere, if it still points where the caller believes.
UPDATE channels
SET revision_id = :revision_id, version = version + 1, switched_at = :switched_at
WHERE resource_id = :resource_id
  AND name = :name
  AND revision_id IS NOT DISTINCT FROM :expected
