"""A wire that answers from a script and records what it was asked; and short ways to write answers."""

import json
from collections.abc import Iterable
from typing import Any

from ringback.client.exchange import Answer, LostError, Request

Piece = bytes | LostError


class ScriptedBody:
    """Gives out its pieces, one a read."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self._pieces = list(pieces)
        self.is_closed = False

    def read(self) -> bytes:
        piece = self._pieces.pop(0) if self._pieces else b""
        if isinstance(piece, LostError):
            raise piece
        return piece

    def close(self) -> None:
        self.is_closed = True


class ScriptedWire:
    """Each request takes the next entry: an answer, a failure, or an answer with the pieces of its body."""

    def __init__(self, *script: Answer | LostError | tuple[Answer, list[Piece]]) -> None:
        self._script = list(script)
        self.asked: list[Request] = []
        self.bodies: list[ScriptedBody] = []

    def send(self, request: Request) -> Answer:
        return self.open(request)[0]

    def open(self, request: Request) -> tuple[Answer, ScriptedBody]:
        self.asked.append(request)
        entry = self._script.pop(0)
        if isinstance(entry, LostError):
            raise entry
        answer, pieces = entry if isinstance(entry, tuple) else (entry, [])
        self.bodies.append(ScriptedBody(pieces))
        return answer, self.bodies[-1]

    def close(self) -> None:
        for body in self.bodies:
            body.close()

    @property
    def is_exhausted(self) -> bool:
        return not self._script


def lost(*, was_sent: bool = True) -> LostError:
    return LostError("cut", was_sent=was_sent)


def ok(body: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode())


def problem(status: int, code: str, *, retryable: bool = False, **more: Any) -> Answer:
    headers = {"content-type": "application/problem+json"}
    if retry_after := more.pop("retry_after", None):
        headers["retry-after"] = str(retry_after)
    body = {"title": code, "status": status, "code": code, "retryable": retryable} | more
    return Answer(status, headers, json.dumps(body).encode())


def job(status: str = "running", **more: Any) -> dict[str, Any]:
    return {"job_id": "job_1", "status": status, "created_at": "2026-01-01T00:00:00.000000Z"} | more


def event(sequence: int, kind: str = "state.updated", **more: Any) -> dict[str, Any]:
    inner = {"type": kind, "eventId": f"e{sequence}", "createdAt": "2026-01-01T00:00:00Z"} | more
    return {"runId": "r1", "sequence": sequence, "event": inner}


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(f"id: {one['sequence']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def stream(*pieces: Piece) -> tuple[Answer, list[Piece]]:
    return Answer(200, {"content-type": "text/event-stream"}), list(pieces)


END = event(4, "run.status.changed", status="succeeded")
