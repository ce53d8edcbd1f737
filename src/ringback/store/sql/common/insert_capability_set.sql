-- Keep what was agreed at an attach, once, under the name of its content.
INSERT INTO capability_sets (capability_set, capabilities, since)
VALUES (:capability_set, :capabilities, :since)
ON CONFLICT (capability_set) DO NOTHING
