-- Record what was true of a run at its creation; never updated.
INSERT INTO run_facts (
    run_id, request_id, resource_type, resource_id, revision_id, channel_id, input, profile, summary_spec, depends_on,
    context_id, tags, traceparent, created_by, source, parent_id, relation
) VALUES (
    :run_id, :request_id, :resource_type, :resource_id, :revision_id, :channel_id, :input, :profile, :summary_spec, :depends_on,
    :context_id, :tags, :traceparent, :created_by, :source, :parent_id, :relation
)
