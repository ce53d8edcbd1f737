-- What a run waited for is settled: nobody is told of the wait any more.
UPDATE inbox
SET state = 'suppressed',
    settled_at = :now
WHERE run_id = :run_id
  AND kind = 'job_input_required'
  AND state = 'pending'
