-- Let a paused queue go on.
DELETE FROM pauses
WHERE project_id = :project_id
  AND pool = :pool
