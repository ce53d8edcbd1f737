-- Every grant of the installation; they are few, and looked at with each call that uses one.
SELECT grant_id, project_id, resource_id, resource_type, name, channel, grantee_id, visibility_scopes, created_at, created_by,
    expires_at, revoked_at
FROM grants
ORDER BY created_at, grant_id
