-- Run spaces: the places that runtimes make for single attempts, with the steps of their lives.

CREATE TABLE run_spaces (
    position INTEGER PRIMARY KEY,
    run_space_id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects (project_id),
    session_id TEXT NOT NULL,
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    attempt_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    provider_type TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('workspace', 'instance', 'slot', 'invocation', 'custom')),
    status TEXT NOT NULL CHECK (status IN ('provisioning', 'ready', 'occupied', 'reclaiming', 'terminated', 'failed')),
    locator TEXT,
    reason TEXT,
    kept INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX run_spaces_of_project ON run_spaces (project_id, position);
CREATE INDEX run_spaces_of_run ON run_spaces (run_id);

CREATE TABLE run_space_steps (
    run_space_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    status TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (run_space_id, position)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER run_space_begins AFTER INSERT ON run_spaces
BEGIN
    INSERT INTO run_space_steps (run_space_id, position, status, at)
    VALUES (NEW.run_space_id, 1, NEW.status, NEW.changed_at);
END;
CREATE TRIGGER run_space_goes_on AFTER UPDATE OF status ON run_spaces WHEN OLD.status <> NEW.status
BEGIN
    INSERT INTO run_space_steps (run_space_id, position, status, at)
    SELECT NEW.run_space_id, max(position) + 1, NEW.status, NEW.changed_at
    FROM run_space_steps
    WHERE run_space_id = NEW.run_space_id;
END;
CREATE TRIGGER run_space_is_purged AFTER DELETE ON run_spaces
BEGIN
    DELETE FROM run_space_steps WHERE run_space_id = OLD.run_space_id;
END;
