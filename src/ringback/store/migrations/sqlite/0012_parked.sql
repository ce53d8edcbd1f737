-- Attempts that gave their slot back until a question is answered: no budget counts them.
ALTER TABLE runs ADD COLUMN attempts_parked INTEGER NOT NULL DEFAULT 0;
