-- One request of a session.
SELECT number, answered_by
FROM continuations
WHERE run_id = :run_id
  AND number = :number
