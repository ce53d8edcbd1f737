-- Pause a queue; pausing it again changes nothing.
INSERT INTO pauses (project_id, pool, since, paused_by)
VALUES (:project_id, :pool, :since, :paused_by)
ON CONFLICT (project_id, pool) DO NOTHING
