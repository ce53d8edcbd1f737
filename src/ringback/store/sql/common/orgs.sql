-- All orgs, oldest first.
SELECT org_id, name, created_at
FROM orgs
ORDER BY created_at, org_id
