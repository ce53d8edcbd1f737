-- Differs from postgres: a list comes as a JSON array, and no row is locked, because the one writer is already alone.
SELECT *
FROM runs
WHERE run_id IN (SELECT value FROM json_each(:ids))
