-- A value that a tool keeps.
SELECT value, version, request_id
FROM tool_values
WHERE project_id = :project_id
  AND tool = :tool
  AND key = :key
