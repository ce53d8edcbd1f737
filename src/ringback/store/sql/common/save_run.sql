-- Save a decided run unless someone else moved it first: no row is changed when `read_version` is no longer the row's version.
-- It holds no rule about statuses; domain/decide.py has already decided. Columns fixed at creation are not written again.
UPDATE runs
SET status = :status,
    waiting_on = :waiting_on,
    version = :version,
    event_sequence = :event_sequence,
    fence = :fence,
    attempt = :attempt,
    session_id = :session_id,
    attempts_done = :attempts_done,
    attempts_parked = :attempts_parked,
    next_reason = :next_reason,
    backoff_until = :backoff_until,
    ready_at = :ready_at,
    timer_at = :timer_at,
    started_at = :started_at,
    ended_at = :ended_at,
    failure_kind = :failure_kind,
    end_reason = :end_reason,
    time_limit = :time_limit,
    error = :error,
    summary = :summary,
    progress = :progress,
    result_sequence = :result_sequence,
    cancellation = :cancellation,
    blocking = :blocking,
    open_interactions = :open_interactions,
    dependents = :dependents,
    children = :children,
    descendants = :descendants
WHERE run_id = :run_id
  AND version = :read_version
