"""Pages of lists. A cursor is opaque, belongs to one query, and tells a forged or foreign one from its own."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ringback.domain.errors import InvalidCursorError
from ringback.domain.json_values import fingerprint

T = TypeVar("T")
_CURSOR_MAX = 500


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items, in order, and where the following ones begin; None: there are none."""

    items: list[T]
    next_cursor: str | None


def write_cursor(position: str | int, query: Mapping[str, Any]) -> str:
    """A cursor behind `position` in the answer to `query`."""
    text = json.dumps([position, fingerprint(query)[:16]], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str, query: Mapping[str, Any]) -> str | int:
    """The position in a cursor.

    Raises:
        InvalidCursorError: it is garbage, or belongs to another query.
    """
    text = cursor[: _CURSOR_MAX + 1] + "=" * (-len(cursor) % 4)
    try:
        raw = base64.b64decode(text, altchars=b"-_", validate=True)
        position, belongs_to = json.loads(raw)
    except (ValueError, TypeError, binascii.Error):
        raise InvalidCursorError("cursor", "not a cursor that this list gave out") from None
    if belongs_to != fingerprint(query)[:16] or not isinstance(position, str | int) or isinstance(position, bool):
        raise InvalidCursorError("cursor", "a cursor of another list or another query")
    return position
