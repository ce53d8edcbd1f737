-- Say whose a token is that an earlier release made.
UPDATE tokens
SET user_id = :user_id, name = :name
WHERE digest = :digest AND user_id IS NULL
