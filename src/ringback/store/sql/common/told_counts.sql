-- How many events each run of a span has, and the number of the last one.
SELECT run_id, COUNT(*) AS count, MAX(sequence) AS last
FROM run_events
WHERE run_id > :after
  AND run_id <= :last
GROUP BY run_id
