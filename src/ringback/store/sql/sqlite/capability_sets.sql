-- What was agreed, by name. Differs from postgres: a list comes as a JSON array.
SELECT capability_set, capabilities
FROM capability_sets
WHERE capability_set IN (SELECT value FROM json_each(:names))
