-- Questions of a run: those that are open are found by when they expire.
CREATE INDEX interactions_expiring ON interactions (expires_at) WHERE status = 'open' AND expires_at IS NOT NULL;
