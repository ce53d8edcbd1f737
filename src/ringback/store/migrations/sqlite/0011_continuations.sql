-- Continuations: which requests to a session wait, and where the answers of the others stand. What they say is in the events.

CREATE TABLE continuations (
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    number INTEGER NOT NULL,           -- the sequence of the request's event
    named TEXT,                        -- JSON of the id that the caller gave; NULL: none
    answered_by INTEGER,               -- the sequence of the answer's event
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX continuations_named ON continuations (run_id, named) WHERE named IS NOT NULL;
CREATE INDEX continuations_waiting ON continuations (run_id, number) WHERE answered_by IS NULL;
