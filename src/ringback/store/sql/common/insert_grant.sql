-- Let another project call a resource.
INSERT INTO grants (
    grant_id, project_id, resource_id, resource_type, name, channel, grantee_id, visibility_scopes, created_at, created_by, expires_at
) VALUES (
    :grant_id, :project_id, :resource_id, :resource_type, :name, :channel, :grantee_id, :visibility_scopes, :created_at, :created_by,
    :expires_at
)
