-- What a runtime calls itself on the attempts that it carries out.
ALTER TABLE sessions ADD COLUMN provider TEXT NOT NULL DEFAULT 'local';
