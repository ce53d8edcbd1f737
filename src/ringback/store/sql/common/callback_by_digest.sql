-- A callback address by its keyed hash.
SELECT run_id, start_no, secret, closed_at, delivery, delivery_id
FROM callbacks
WHERE digest = :digest
