-- Runs that retention may remove: ended long ago, owing nobody a word. A run stays at least as long as the one that started it,
-- whose events tell of it; so families go from the root down. Served from an index on the end.
SELECT run_id
FROM runs
WHERE ended_at IS NOT NULL
  AND ended_at <= :ended_before
  AND NOT EXISTS (
      SELECT 1
      FROM run_links
      JOIN runs AS starter ON starter.run_id = run_links.from_run_id
      WHERE run_links.to_run_id = runs.run_id
        AND run_links.relation IN ('tool_subrun', 'delegation', 'handoff', 'mcp_session')
  )
  AND run_id NOT IN (SELECT run_id FROM outbox)
ORDER BY ended_at
LIMIT :limit
