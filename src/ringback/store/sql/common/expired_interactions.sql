-- Open questions whose time is over, the most overdue first.
SELECT interaction_id
FROM interactions
WHERE status = 'open'
  AND expires_at IS NOT NULL
  AND expires_at <= :now
ORDER BY expires_at
LIMIT 100
