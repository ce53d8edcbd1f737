-- The inbox: what callers are told of runs without having asked. Written in the transaction that changes the run.

ALTER TABLE runs ADD COLUMN notify TEXT;   -- the caller who wants to hear; NULL: nobody

CREATE TABLE inbox (
    position INTEGER PRIMARY KEY,      -- order of commit
    item_id TEXT NOT NULL UNIQUE,      -- the event's id
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    project_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    thread_id TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('job_completed', 'job_timed_out', 'job_input_required')),
    sequence INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'suppressed')),
    settled_at INTEGER,
    CHECK ((state = 'pending') = (settled_at IS NULL))
) STRICT;
CREATE INDEX inbox_pending ON inbox (project_id, owner, position) WHERE state = 'pending';
CREATE INDEX inbox_of_run ON inbox (run_id);
