-- How many values a tool keeps.
SELECT count(*) AS kept
FROM tool_values
WHERE project_id = :project_id
  AND tool = :tool
  AND value IS NOT NULL
