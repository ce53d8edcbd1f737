-- End a membership.
DELETE FROM memberships
WHERE project_id = :project_id AND user_id = :user_id
