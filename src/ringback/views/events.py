"""Events on the wire: one envelope on every surface, and the frames of a stream.

Output is shown as text where it is text and as base64 where it is not; `encoding` says which. Nothing is lost either way.
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from ringback.domain.events import StoredEvent
from ringback.domain.moments import rfc3339

_encode = msgspec.json.Encoder().encode
SIGN_OF_LIFE = b": \n\n"


def envelope(event: StoredEvent, thread_id: str | None) -> dict[str, Any]:
    """`{runId, threadId?, sequence, event}`."""
    inner: dict[str, Any] = {
        "type": event.type,
        "eventId": event.event_id,
        "createdAt": rfc3339(event.created_at),
        **event.body,
    }
    if event.type == "run.status.changed":
        inner["status"] = inner.pop("to")
    elif event.data is not None:
        inner["encoding"], inner["data"] = _text_of(event.data)
    body: dict[str, Any] = {"runId": event.run_id, "sequence": event.sequence, "event": inner}
    if thread_id is not None:
        body["threadId"] = thread_id
    return body


def _text_of(data: bytes) -> tuple[str, str]:
    try:
        return "utf-8", data.decode()
    except UnicodeDecodeError:
        return "base64", base64.b64encode(data).decode()


def frame(body: dict[str, Any], event_id: str | int) -> bytes:
    """A message of a stream. JSON holds no raw line break, so one `data` line is enough."""
    return b"id: %b\ndata: %b\n\n" % (str(event_id).encode(), _encode(body))


def position_frame(event_id: str) -> bytes:
    """No message, but a place from which to go on: a sign of life that also moves a reader forward."""
    return b"id: %b\n\n" % event_id.encode()
