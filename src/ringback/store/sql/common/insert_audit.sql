-- Who changed what, and when.
INSERT INTO audit (at, actor, action, subject, facts, project_id)
VALUES (:at, :actor, :action, :subject, :facts, :project_id)
