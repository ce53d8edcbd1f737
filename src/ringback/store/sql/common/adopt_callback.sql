-- A later attempt goes on with the job of an earlier one: the address is its own now.
UPDATE callbacks
SET attempt_id = :attempt_id
WHERE run_id = :run_id
  AND start_no = :start_no
