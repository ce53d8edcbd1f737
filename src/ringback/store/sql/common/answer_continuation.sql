-- A request is answered; the first answer counts.
UPDATE continuations
SET answered_by = :answered_by
WHERE run_id = :run_id
  AND number = :number
  AND answered_by IS NULL
