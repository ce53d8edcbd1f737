-- A request is put to a session.
INSERT INTO continuations (run_id, number, named)
VALUES (:run_id, :number, :named)
