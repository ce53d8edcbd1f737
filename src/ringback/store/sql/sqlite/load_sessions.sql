-- Differs from postgres: a list comes as a JSON array.
SELECT *
FROM sessions
WHERE session_id IN (SELECT value FROM json_each(:ids))
