-- Worker sessions whose lease has run out. Only candidates: each is loaded and decided again.
SELECT session_id
FROM sessions
WHERE ended_at IS NULL
  AND lease_until <= :now
ORDER BY lease_until
LIMIT :limit
