-- A question can be answered, once, by whoever holds a link.
INSERT INTO answer_links
    (link_id, digest, interaction_id, run_id, role, label, issued_by, user_id, created_at, expires_at, used_at, revoked_at)
VALUES
    (:link_id, :digest, :interaction_id, :run_id, :role, :label, :issued_by, :user_id, :created_at, :expires_at, NULL, NULL)
