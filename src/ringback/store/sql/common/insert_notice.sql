-- Somebody is to be told of a run.
INSERT INTO inbox (item_id, run_id, project_id, owner, thread_id, kind, sequence, created_at, state)
VALUES (:item_id, :run_id, :project_id, :owner, :thread_id, :kind, :sequence, :created_at, 'pending')
