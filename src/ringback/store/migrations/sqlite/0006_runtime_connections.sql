-- Runtimes keep their connection over attaches, and what was agreed at each attach is kept by its content.

CREATE TABLE capability_sets (
    capability_set TEXT PRIMARY KEY,   -- names its content
    capabilities TEXT NOT NULL,        -- JSON array of descriptors; never changed
    since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE sessions ADD COLUMN connection_id TEXT NOT NULL DEFAULT '';
UPDATE sessions SET connection_id = session_id;
ALTER TABLE sessions ADD COLUMN protocol_version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE sessions ADD COLUMN capability_set TEXT REFERENCES capability_sets (capability_set) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE sessions ADD COLUMN attached_by TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions DROP COLUMN capabilities;
CREATE UNIQUE INDEX sessions_of_connection ON sessions (connection_id, epoch);
