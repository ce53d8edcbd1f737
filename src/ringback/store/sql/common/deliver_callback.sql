-- The first delivery at a callback address counts; whoever comes later finds its mark.
UPDATE callbacks
SET delivery = :delivery, delivery_id = :delivery_id, delivered_at = :now
WHERE digest = :digest
  AND delivery IS NULL
  AND closed_at IS NULL
