-- Make an org, unless it exists.
INSERT INTO orgs (org_id, name, created_at)
VALUES (:org_id, :name, :created_at)
ON CONFLICT (org_id) DO NOTHING
