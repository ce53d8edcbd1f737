-- A link by its keyed hash.
SELECT link_id, interaction_id, run_id, role, label, issued_by, user_id, expires_at, used_at, revoked_at
FROM answer_links
WHERE digest = :digest
