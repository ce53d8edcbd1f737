-- Small values that tools keep for themselves, across their runs.

CREATE TABLE tool_values (
    project_id TEXT NOT NULL REFERENCES projects (project_id),
    tool TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT,                        -- JSON; NULL: deleted, its version goes on
    version INTEGER NOT NULL CHECK (version >= 1),
    request_id TEXT NOT NULL,          -- of the last write: repeated, it is not done again
    run_id TEXT NOT NULL,              -- which wrote it last
    written_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, tool, key)
) STRICT, WITHOUT ROWID;
