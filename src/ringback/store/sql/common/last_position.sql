-- The position of the last event that was committed.
SELECT COALESCE(MAX(position), 0) AS position
FROM run_events
