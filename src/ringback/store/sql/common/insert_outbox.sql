-- Something to be done after the commit, however often the process dies.
INSERT INTO outbox (topic, run_id, created_at)
VALUES (:topic, :run_id, :created_at)
