-- Published endpoints, and tokens that open one run to whoever holds them.

CREATE TABLE endpoints (
    project_id TEXT NOT NULL REFERENCES projects (project_id),
    path TEXT NOT NULL,                -- without a slash at its ends
    tool TEXT NOT NULL,                -- by name: a request starts the revision that is current then
    published_by TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE capability_tokens (
    token_id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,       -- keyed hash; the token itself is never stored
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    issued_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
CREATE INDEX capability_tokens_of_run ON capability_tokens (run_id);
