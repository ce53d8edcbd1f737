-- The names under which the programs of an attempt asked, for those that don't count their questions themselves.

CREATE TABLE asked_keys (
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    fence INTEGER NOT NULL,            -- of the attempt that asked
    key TEXT NOT NULL,                 -- what the question is known by within the run
    request_id TEXT NOT NULL,          -- which request it was: repeated, it stays the same question
    PRIMARY KEY (run_id, fence, key)
) STRICT, WITHOUT ROWID;

-- Links that let whoever holds one answer one question, once.
CREATE TABLE answer_links (
    link_id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,       -- keyed hash; the token itself is never stored
    interaction_id TEXT NOT NULL REFERENCES interactions (interaction_id),
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    role TEXT NOT NULL,                -- as which it answers, at most
    label TEXT,                        -- whom it was made for
    issued_by TEXT NOT NULL,
    user_id TEXT,                      -- whose role counts as long as it lasts; NULL: a token of the installation
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    revoked_at INTEGER
) STRICT;
CREATE INDEX answer_links_of_interaction ON answer_links (interaction_id);
CREATE INDEX answer_links_of_run ON answer_links (run_id);
