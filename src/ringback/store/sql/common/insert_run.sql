-- Record a new run.
INSERT INTO runs (
    run_id, project_id, tool, lane, thread_id, notify, status, policy, priority, created_at, not_before, deadline_at,
    runs_always, waiting_on, version, event_sequence, fence, attempt, session_id, attempts_done, attempts_parked, next_reason,
    backoff_until, ready_at,
    timer_at, started_at, ended_at, failure_kind, end_reason, time_limit, error, summary, progress, result_sequence,
    cancellation, blocking, open_interactions, dependents, children, descendants
) VALUES (
    :run_id, :project_id, :tool, :lane, :thread_id, :notify, :status, :policy, :priority, :created_at, :not_before,
    :deadline_at, :runs_always, :waiting_on, :version, :event_sequence, :fence, :attempt, :session_id, :attempts_done,
    :attempts_parked, :next_reason,
    :backoff_until, :ready_at, :timer_at, :started_at, :ended_at, :failure_kind, :end_reason, :time_limit, :error, :summary,
    :progress, :result_sequence, :cancellation, :blocking, :open_interactions, :dependents, :children, :descendants
)
