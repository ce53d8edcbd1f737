-- Names under which the programs of an attempt asked, with the request that took each.
SELECT key, request_id
FROM asked_keys
WHERE run_id = :run_id
  AND fence = :fence
ORDER BY key
