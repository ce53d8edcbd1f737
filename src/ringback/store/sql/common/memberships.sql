-- All memberships, by project and user.
SELECT project_id, user_id, role, since
FROM memberships
ORDER BY project_id, user_id
