-- What superseded workers of a run brought, as evidence.
SELECT attempt_no, late
FROM attempts
WHERE run_id = :run_id
  AND late IS NOT NULL
ORDER BY attempt_no
