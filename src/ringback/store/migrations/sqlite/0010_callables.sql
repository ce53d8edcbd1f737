-- Names for resources, grants across organizations, and where a run stands in its family.

CREATE TABLE aliases (
    project_id TEXT NOT NULL REFERENCES projects (project_id),
    alias TEXT NOT NULL,
    resource_type TEXT NOT NULL CHECK (resource_type IN ('agent', 'tool', 'mcp_server')),
    target TEXT NOT NULL,              -- a resource's name; of a granted one, its name at the provider
    channel TEXT,                      -- NULL: stable
    grant_id TEXT,                     -- NULL: a resource of the project itself
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    PRIMARY KEY (project_id, alias)
) STRICT, WITHOUT ROWID;

CREATE TABLE grants (
    grant_id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (project_id),  -- the provider's, which owns the runs
    resource_id TEXT NOT NULL REFERENCES resources (resource_id),
    resource_type TEXT NOT NULL,
    name TEXT NOT NULL,
    channel TEXT NOT NULL,
    grantee_id TEXT NOT NULL REFERENCES projects (project_id),
    visibility_scopes TEXT NOT NULL,   -- JSON array
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE shared_runs (
    run_id TEXT PRIMARY KEY REFERENCES runs (run_id),
    grant_id TEXT NOT NULL REFERENCES grants (grant_id),
    project_id TEXT NOT NULL REFERENCES projects (project_id)   -- the caller's
) STRICT, WITHOUT ROWID;

ALTER TABLE runs ADD COLUMN descendants INTEGER NOT NULL DEFAULT 0;
CREATE INDEX audit_of_subject ON audit (subject, position);
