-- What rows of runs say of what their events tell, in the order of their ids.
SELECT run_id, status, event_sequence, attempts_done, next_reason, started_at, ended_at, failure_kind, end_reason, time_limit, error,
       summary, progress, result_sequence, cancellation, blocking, open_interactions, children,
       attempt, session_id, waiting_on, backoff_until, ready_at, timer_at
FROM runs
WHERE run_id > :after
ORDER BY run_id
LIMIT :limit
