-- Users, their roles, and whose a token is. A platform role is no membership.

CREATE TABLE users (
    user_id TEXT PRIMARY KEY,
    platform_role TEXT CHECK (platform_role IN ('admin')),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE memberships (
    project_id TEXT NOT NULL REFERENCES projects (project_id),
    user_id TEXT NOT NULL REFERENCES users (user_id),
    role TEXT NOT NULL CHECK (role IN ('viewer', 'runner', 'editor', 'admin', 'owner')),
    since INTEGER NOT NULL,
    PRIMARY KEY (project_id, user_id)
) STRICT, WITHOUT ROWID;

ALTER TABLE tokens ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN user_id TEXT REFERENCES users (user_id);  -- NULL: the installation's own

ALTER TABLE audit ADD COLUMN project_id TEXT;  -- NULL: about the installation
CREATE INDEX audit_of_project ON audit (project_id, position);
