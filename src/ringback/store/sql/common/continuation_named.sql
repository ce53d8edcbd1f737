-- The request of a session that has this id of its caller.
SELECT number
FROM continuations
WHERE run_id = :run_id
  AND named = :named
