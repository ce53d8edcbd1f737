-- Callbacks: one-time addresses at which somebody else's job API tells a waiting run that its job has ended.

CREATE TABLE callbacks (
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    start_no INTEGER NOT NULL,         -- which job of the run it belongs to, from 1
    digest TEXT NOT NULL UNIQUE,       -- keyed hash of the token, which is never stored
    salt TEXT NOT NULL,                -- with the installation's key it makes the token again, for the attempt that goes on
    attempt_id TEXT NOT NULL,          -- the attempt that waits for it
    secret TEXT,                       -- the name of the secret that deliveries are signed with; NULL: unsigned
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,                 -- a later job of the run took its place
    delivery TEXT,                     -- JSON of the one delivery that counts
    delivery_id TEXT,
    delivered_at INTEGER,
    PRIMARY KEY (run_id, start_no),
    CHECK ((delivery IS NULL) = (delivered_at IS NULL)),
    CHECK ((delivery IS NULL) = (delivery_id IS NULL))
) STRICT, WITHOUT ROWID;
