-- Who changed what, and when.
INSERT INTO audit (at, actor, action, subject, facts)
VALUES (:at, :actor, :action, :subject, :facts)
