-- The ledger: runs, attempts, events, links, keys, worker sessions; and the catalogue around it.
-- Ids are text, moments are microseconds since 1970 UTC, payloads are JSON text (decision 0001).

CREATE TABLE orgs (
    org_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE projects (
    project_id TEXT PRIMARY KEY,
    org_id TEXT NOT NULL REFERENCES orgs (org_id),
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tokens (
    token_id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,       -- keyed hash; the token itself is never stored
    owner TEXT NOT NULL,               -- scope of idempotency keys, shown as "created by"
    scopes TEXT NOT NULL,              -- JSON array
    project_id TEXT REFERENCES projects (project_id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT;

CREATE TABLE resources (
    resource_id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (project_id),
    resource_type TEXT NOT NULL CHECK (resource_type IN ('agent', 'tool', 'mcp_server')),
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (project_id, resource_type, name)
) STRICT;

CREATE TABLE revisions (
    revision_id TEXT PRIMARY KEY,      -- content-addressed: resource and digest of the definition
    resource_id TEXT NOT NULL REFERENCES resources (resource_id),
    definition TEXT NOT NULL,          -- JSON
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE channels (
    resource_id TEXT NOT NULL REFERENCES resources (resource_id),
    name TEXT NOT NULL,
    revision_id TEXT REFERENCES revisions (revision_id),  -- NULL: withdrawn
    version INTEGER NOT NULL,
    switched_at INTEGER NOT NULL,
    PRIMARY KEY (resource_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    position INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    facts TEXT NOT NULL                -- JSON
) STRICT;

CREATE TABLE pauses (
    project_id TEXT NOT NULL REFERENCES projects (project_id),
    pool TEXT NOT NULL,
    since INTEGER NOT NULL,
    paused_by TEXT,
    PRIMARY KEY (project_id, pool)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    incarnation TEXT NOT NULL,
    slots INTEGER NOT NULL CHECK (slots >= 1),
    offers TEXT NOT NULL,              -- JSON array of pool/need
    labels TEXT NOT NULL,              -- JSON object
    capabilities TEXT NOT NULL,        -- JSON array
    attached_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    epoch INTEGER NOT NULL CHECK (epoch >= 0),
    ended_at INTEGER,
    end_reason TEXT,
    CHECK ((ended_at IS NULL) = (end_reason IS NULL))
) STRICT;
CREATE INDEX sessions_live ON sessions (lease_until) WHERE ended_at IS NULL;

CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (project_id),
    tool TEXT NOT NULL,
    lane TEXT NOT NULL,
    thread_id TEXT,
    status TEXT NOT NULL CHECK (status IN
        ('queued', 'submitted', 'running', 'retrying', 'canceling', 'succeeded', 'failed', 'canceled')),
    policy TEXT NOT NULL,              -- JSON, frozen
    priority INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    not_before INTEGER,
    deadline_at INTEGER,
    runs_always INTEGER NOT NULL,
    waiting_on TEXT,                   -- JSON array of run ids
    version INTEGER NOT NULL,
    event_sequence INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    attempt TEXT,                      -- JSON, the attempt under way
    session_id TEXT,                   -- who holds it
    attempts_done INTEGER NOT NULL,
    next_reason TEXT NOT NULL,
    backoff_until INTEGER,
    ready_at INTEGER,                  -- set exactly while a claim may take it
    timer_at INTEGER,
    started_at INTEGER,
    ended_at INTEGER,
    failure_kind TEXT,
    end_reason TEXT,
    time_limit TEXT,
    error TEXT,
    summary TEXT,
    progress TEXT,                     -- JSON
    result_sequence INTEGER,
    cancellation TEXT,                 -- JSON
    blocking TEXT,                     -- JSON: interaction, reason, since; together or not at all
    open_interactions INTEGER NOT NULL CHECK (open_interactions >= 0),
    dependents INTEGER NOT NULL,
    children INTEGER NOT NULL,
    CHECK ((status IN ('succeeded', 'failed', 'canceled')) = (ended_at IS NOT NULL)),
    CHECK ((status IN ('submitted', 'running', 'canceling')) = (session_id IS NOT NULL)),
    CHECK ((attempt IS NULL) = (session_id IS NULL)),
    CHECK (ready_at IS NULL OR status IN ('queued', 'retrying')),
    CHECK ((status = 'failed') = (failure_kind IS NOT NULL)),
    CHECK (blocking IS NULL OR open_interactions > 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_listed ON runs (project_id, run_id);
CREATE INDEX runs_open ON runs (project_id, status, run_id) WHERE ended_at IS NULL;
CREATE INDEX runs_unsuccessful ON runs (project_id, status, run_id) WHERE status IN ('failed', 'canceled');
CREATE INDEX runs_ready ON runs (project_id, lane, priority DESC, ready_at, run_id) WHERE ready_at IS NOT NULL;
CREATE INDEX runs_held ON runs (session_id, project_id, lane) WHERE session_id IS NOT NULL;
CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX runs_timed ON runs (timer_at) WHERE timer_at IS NOT NULL;

CREATE TABLE run_facts (
    run_id TEXT PRIMARY KEY REFERENCES runs (run_id),
    request_id TEXT NOT NULL,
    resource_type TEXT NOT NULL,
    resource_id TEXT NOT NULL,
    revision_id TEXT NOT NULL,
    channel_id TEXT,
    input TEXT NOT NULL,               -- JSON, frozen
    profile TEXT NOT NULL,             -- JSON, frozen
    summary_spec TEXT NOT NULL,        -- JSON
    depends_on TEXT NOT NULL,          -- JSON array
    context_id TEXT,
    tags TEXT NOT NULL,                -- JSON array
    traceparent TEXT,
    created_by TEXT,
    source TEXT NOT NULL,
    parent_id TEXT,
    relation TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    attempt_no INTEGER NOT NULL CHECK (attempt_no >= 1),
    attempt TEXT NOT NULL,             -- JSON
    ended_at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT,
    late TEXT,                         -- JSON: what its worker brought after it was superseded; evidence only
    PRIMARY KEY (run_id, attempt_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_events (
    position INTEGER PRIMARY KEY,      -- order of commit over all runs
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    sequence INTEGER NOT NULL CHECK (sequence >= 1),
    project_id TEXT NOT NULL,
    type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    body TEXT NOT NULL,                -- JSON
    data BLOB                          -- bytes of output, as they came
) STRICT;
CREATE UNIQUE INDEX run_events_sequence ON run_events (run_id, sequence);

CREATE TABLE run_links (
    from_run_id TEXT NOT NULL,
    to_run_id TEXT NOT NULL,
    relation TEXT NOT NULL CHECK (relation IN
        ('tool_subrun', 'delegation', 'handoff', 'mcp_session', 'follow_up', 'depends_on', 'rerun_of')),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (from_run_id, relation, to_run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_links_back ON run_links (to_run_id, relation, from_run_id);

CREATE TABLE checkpoints (
    run_id TEXT PRIMARY KEY REFERENCES runs (run_id),
    value TEXT NOT NULL,               -- JSON
    saved_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE interactions (
    interaction_id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (run_id),
    kind TEXT NOT NULL CHECK (kind IN ('approval', 'input', 'auth', 'confirmation')),
    blocking INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'answered', 'rejected', 'expired', 'withdrawn')),
    prompt TEXT NOT NULL,              -- JSON
    expires_at INTEGER,
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,
    response TEXT,                     -- JSON
    CHECK ((status = 'open') = (closed_at IS NULL))
) STRICT;
CREATE INDEX interactions_of_run ON interactions (run_id, opened_at);

CREATE TABLE idempotency_keys (
    project_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    run_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (project_id, owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_of_run ON idempotency_keys (run_id);

CREATE TABLE outbox (
    position INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    run_id TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
