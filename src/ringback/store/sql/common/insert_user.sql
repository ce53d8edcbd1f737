-- Make a user, unless there is one.
INSERT INTO users (user_id, platform_role, created_at)
VALUES (:user_id, :platform_role, :created_at)
ON CONFLICT (user_id) DO NOTHING
