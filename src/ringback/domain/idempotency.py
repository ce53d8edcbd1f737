"""One key, one run: what a key may look like and what a second use of it means.

A key lives in the scope of a project and the owner of the token. The same payload gets the first run's handle again, whatever
became of that run; another payload is refused and changes nothing. Payloads are compared as they were sent: a default that one
caller spells out and another leaves away makes two payloads, so that an edit of a tool's defaults never turns a retry into a
conflict or the reverse. A fresh run needs a fresh key, or `rerun`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ringback.domain.errors import IdempotencyConflictError, IdempotencyKeyError
from ringback.domain.ids import ProjectId, RunId
from ringback.domain.moments import HOUR, Micros, Moment

KEY_MAX = 255
KEPT_AFTER_END: Micros = 24 * HOUR


@dataclass(frozen=True, slots=True)
class KeyRef:
    """Where a key is looked up."""

    project_id: ProjectId
    owner: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """A key that was used."""

    ref: KeyRef
    fingerprint: str
    run_id: RunId
    created_at: Moment


def check_key(key: str) -> str:
    """The key, exactly as given.

    Raises:
        IdempotencyKeyError: not 1 to 255 visible ASCII characters.
    """
    if not 1 <= len(key) <= KEY_MAX:
        raise IdempotencyKeyError(f"an idempotency key has 1 to {KEY_MAX} characters, this one has {len(key)}")
    if not all("!" <= char <= "~" for char in key):
        raise IdempotencyKeyError("an idempotency key consists of visible ASCII characters without spaces")
    return key


def unquote(header: str) -> str:
    """The key in an `Idempotency-Key` header, bare or as a quoted string (RFC 8941)."""
    if len(header) >= 2 and header[0] == header[-1] == '"':
        return header[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return header


def one_key(header: str | None, body: str | None) -> str | None:
    """The key of a request that may name it twice.

    Raises:
        IdempotencyKeyError: malformed, or header and body differ.
    """
    if header is not None and body is not None and header != body:
        raise IdempotencyKeyError("the Idempotency-Key header and the body name different keys")
    key = body if header is None else header
    return None if key is None else check_key(key)


def replayed(record: KeyRecord, fingerprint: str) -> RunId:
    """The run that the key stands for.

    Raises:
        IdempotencyConflictError: the payload is another one.
    """
    if record.fingerprint != fingerprint:
        raise IdempotencyConflictError(record.run_id)
    return record.run_id
