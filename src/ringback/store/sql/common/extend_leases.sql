-- After a restart: nobody could renew a lease while there was no server.
UPDATE sessions
SET lease_until = :lease_until
WHERE ended_at IS NULL
  AND lease_until < :lease_until
