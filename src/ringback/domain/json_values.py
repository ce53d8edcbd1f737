"""JSON as values: what may come in, and when two payloads are the same.

Text that no database keeps faithfully is refused at the border (a NUL character, an unpaired surrogate). Equality is by value:
member order, whitespace and escapes don't count, and neither does 1 against 1.0; numbers of any size are exact.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ringback.domain.errors import Flaw

DEPTH_MAX = 100


def flaws_of(value: Any, pointer: str = "") -> Iterator[Flaw]:
    """Every place in `value` that may not come in, as JSON pointers."""
    return _walk(value, pointer, 0)


def _walk(value: Any, pointer: str, depth: int) -> Iterator[Flaw]:
    if depth > DEPTH_MAX:
        yield Flaw(pointer[:200], f"nested deeper than {DEPTH_MAX} levels")
    elif value is None or isinstance(value, int):
        return
    elif isinstance(value, str):
        if flaw := text_flaw(value):
            yield Flaw(pointer, flaw)
    elif isinstance(value, (dict, Mapping)):  # dict first: asking an abstract class is slow
        for key, item in value.items():
            if flaw := text_flaw(key):
                yield Flaw(pointer, f"a member's name {flaw}")
            else:
                yield from _walk(item, f"{pointer}/{escape(key)}", depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for index, item in enumerate(value):
            yield from _walk(item, f"{pointer}/{index}", depth + 1)
    elif isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        yield Flaw(pointer, "is not a finite number")


def text_flaw(text: str) -> str | None:
    """What is wrong with `text`, or None. `isascii` keeps the ordinary case quick."""
    if "\0" in text:
        return "holds a NUL character"
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        return "holds an unpaired surrogate"
    return None


def escape(member: str) -> str:
    """A member's name as a JSON pointer token (RFC 6901)."""
    return member.replace("~", "~0").replace("/", "~1")


def fingerprint(value: Any) -> str:
    """A digest that two JSON values share exactly when they are equal as values."""
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
