-- Keep a value, unless somebody else was faster.
INSERT INTO tool_values (project_id, tool, key, value, version, request_id, run_id, written_at)
VALUES (:project_id, :tool, :key, :value, 1, :request_id, :run_id, :now)
ON CONFLICT (project_id, tool, key) DO UPDATE
SET value = excluded.value,
    version = tool_values.version + 1,
    request_id = excluded.request_id,
    run_id = excluded.run_id,
    written_at = excluded.written_at
WHERE tool_values.version = :before
