-- Make a user a member of a project, or change the role.
INSERT INTO memberships (project_id, user_id, role, since)
VALUES (:project_id, :user_id, :role, :since)
ON CONFLICT (project_id, user_id) DO UPDATE SET role = excluded.role
