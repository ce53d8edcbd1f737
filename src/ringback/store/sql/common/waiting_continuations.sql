-- Requests of a session that have no answer, behind a number, oldest first.
SELECT number
FROM continuations
WHERE run_id = :run_id
  AND number > :after
  AND answered_by IS NULL
ORDER BY number
LIMIT :limit
