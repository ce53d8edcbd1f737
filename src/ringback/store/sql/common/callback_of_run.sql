-- The callback address of one job of a run.
SELECT digest, salt, attempt_id, secret, closed_at, delivery
FROM callbacks
WHERE run_id = :run_id
  AND start_no = :start_no
