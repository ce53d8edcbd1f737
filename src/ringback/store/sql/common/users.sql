-- All users by name.
SELECT user_id, platform_role, created_at
FROM users
ORDER BY user_id
