-- When the next timer is due.
SELECT MIN(timer_at) AS timer_at
FROM runs
WHERE timer_at IS NOT NULL
