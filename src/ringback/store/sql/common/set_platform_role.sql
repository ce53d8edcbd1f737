-- Give or take the platform role of a user.
UPDATE users
SET platform_role = :platform_role
WHERE user_id = :user_id
