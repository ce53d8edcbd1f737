-- Put a run space down. Its steps are recorded by the schema.
INSERT INTO run_spaces (
    run_space_id, project_id, session_id, run_id, attempt_id, fence, provider_type, kind, status, locator, reason, kept,
    created_at, changed_at
) VALUES (
    :run_space_id, :project_id, :session_id, :run_id, :attempt_id, :fence, :provider_type, :kind, :status, :locator, :reason, :kept,
    :created_at, :now
)
