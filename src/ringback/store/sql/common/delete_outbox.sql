-- An outbox entry was carried out.
DELETE FROM outbox
WHERE position = :position
