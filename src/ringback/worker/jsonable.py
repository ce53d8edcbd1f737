"""What a function may hand to the platform, and as which JSON it arrives: results, page items, checkpoints.

The standard library's encoder does the work in C and is exact where it matters: integers of any size, no NaN, cycles
noticed. What it doesn't know comes to `_other`, the table of `docs/functions.md`. Only after a failure is the value
walked once more, to say where the fault lies. Deliberately absent: pickling, and guessing from `__dict__` or `str()`.
"""

import dataclasses
import datetime
import decimal
import enum
import json
import math
import pathlib
import uuid
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from .wire import RESULT_MAX

_SCALARS: Final = (
    datetime.datetime,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
    bytes,
    bytearray,
    memoryview,
)
_DEPTH_MAX: Final = 100
PREVIEW_MAX: Final = 200


class UnserialisableError(Exception):
    """A value has no JSON form; the message names the place and the type."""


class TooLargeError(UnserialisableError):
    """The JSON form takes more bytes than allowed."""


def to_json(value: object, *, limit: int = RESULT_MAX) -> Raw:
    """The value as JSON.

    Raises:
        UnserialisableError: it has no JSON form.
        TooLargeError: it takes more than `limit` bytes.
    """
    if value is None:
        return Raw(b"null")
    try:
        encoded = _encode(value).encode()
    except Exception as error:  # noqa: BLE001 - properties, iterators and __class__ of foreign objects may raise anything
        raise UnserialisableError(f"not serialisable: {_fault(value, error)}") from None
    if len(encoded) > limit:
        raise TooLargeError(f"not serialisable: {len(encoded)} bytes of JSON, {limit} are allowed")
    return Raw(encoded)


def clean(text: str, limit: int) -> str:
    """Text that any JSON reader takes: unpaired surrogates replaced, at most `limit` characters."""
    return text[:limit].encode("utf-8", "replace").decode()


def _other(value: Any) -> Any:
    """One step from a value that JSON doesn't know towards one that it knows."""
    if isinstance(value, _SCALARS):
        return msgspec.to_builtins(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (set, frozenset)):
        return _in_order(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {name: item for name, field in names if (item := getattr(value, field)) is not msgspec.UNSET}
    if isinstance(value, pathlib.PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(type(value), "model_dump", None)  # Pydantic, without importing it
    if dump is not None:
        return dump(value, mode="json")
    raise UnserialisableError(type(value).__qualname__)


def _in_order(items: set[Any] | frozenset[Any]) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return list(items)


_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_other).encode


def _fault(value: object, error: Exception) -> str:
    try:
        return _find(value, "", set()) or _told(error)
    except Exception:  # noqa: BLE001 - the same foreign code as in `to_json`
        return _told(error)


def _told(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    try:
        return clean(f"{type(error).__name__}: {error}", 500)
    except Exception:  # noqa: BLE001 - a foreign __str__
        return type(error).__name__


def _find(value: Any, path: str, above: set[int]) -> str | None:
    """Where the first fault lies, as a JSON pointer and a reason; None when this part is fine."""
    place = f"{path or 'the value'}: "
    if isinstance(value, str):
        return f"{place}an unpaired surrogate" if _has_surrogate(value) else None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{place}{value!r}"
    if value is None or isinstance(value, int):
        return None
    if id(value) in above:
        return f"{place}contains itself"
    if len(above) > _DEPTH_MAX:
        return f"{place}nested too deeply"
    inside = above | {id(value)}
    if isinstance(value, dict):
        return _find_in_object(value, path, inside)
    if isinstance(value, (list, tuple)):
        return _first(_find(item, f"{path}/{index}", inside) for index, item in enumerate(value))
    try:
        known = _other(value)
    except UnserialisableError:
        return f"{place}{type(value).__qualname__}"
    return _find(known, path, inside)


def _find_in_object(value: dict[Any, Any], path: str, above: set[int]) -> str | None:
    for key, item in value.items():
        if not isinstance(key, (str, int, float, bool, type(None))):
            return f"{path or 'the value'}: a key of type {type(key).__qualname__}"
        if isinstance(key, float) and not math.isfinite(key):
            return f"{path or 'the value'}: the key {key!r}"
        name = str(key)
        if _has_surrogate(name):
            return f"{path or 'the value'}: a key with an unpaired surrogate"
        if fault := _find(item, f"{path}/{name.replace('~', '~0').replace('/', '~1')}", above):
            return fault
    return None


def _first(faults: Any) -> str | None:
    return next((fault for fault in faults if fault), None)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def preview(value: Any) -> str | None:
    """A result as one short line, for the summary of a tool that gave none of its own; None for no result."""
    if value is None:
        return None
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= PREVIEW_MAX else text[: PREVIEW_MAX - 1] + "…"
