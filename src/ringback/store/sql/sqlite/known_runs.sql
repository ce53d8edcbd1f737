-- Which of these runs there are. For SQLite alone: the list of ids is JSON.
SELECT run_id
FROM runs
WHERE run_id IN (SELECT value FROM json_each(:run_ids))
