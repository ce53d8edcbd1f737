-- Where the captured output of a run lies: its chunks in order with their sizes, and the marks of what was not kept.
SELECT sequence, type, body, LENGTH(data) AS size
FROM run_events
WHERE run_id = :run_id
  AND type IN ('output.chunk', 'output.dropped')
ORDER BY sequence
