-- The links to a question, newest first.
SELECT link_id, role, label, issued_by, created_at, expires_at, used_at, revoked_at
FROM answer_links
WHERE interaction_id = :interaction_id
ORDER BY created_at DESC, link_id
LIMIT 1000
