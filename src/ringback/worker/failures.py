"""How an exception of a tool is told to the platform: kind, message, a trimmed traceback, whether to try again.

Exceptions are foreign objects: their texts may raise, be endless or hold what JSON can't. Nothing here lets that out.
"""

import traceback
from types import TracebackType
from typing import Final

from msgspec import Raw

from .jsonable import UnserialisableError, clean, to_json
from .schema import ArgumentsError
from .signals import Cancelled, Fail, Released, UnansweredError
from .wire import PIECE_MAX, Failed

MESSAGE_MAX: Final = 4_000
TRACE_MAX: Final = 4_000
_FRAMES_MAX: Final = 40
_OWN: Final = ("ringback.worker.", "asyncio.")


def failed(error: BaseException, *, why: str | None) -> Failed:
    """The report for what ended an attempt.

    Args:
        error: what the tool raised, or what kept it from being called.
        why: the reason for which the attempt was asked to stop, if it was.
    """
    match error:
        case ArgumentsError():
            return Failed("invalid_params", clean(str(error), MESSAGE_MAX), _pointed(error.pointer), retryable=False)
        case UnserialisableError():
            return Failed("tool_error", clean(str(error), MESSAGE_MAX), retryable=False)
        case Fail():
            return Failed("tool_error", clean(str(error.message), MESSAGE_MAX), _detail(error), error.retryable)
        case Released():
            return Failed("released", "it waits for an answer", retryable=True)
        case UnansweredError(status="expired"):
            return Failed("expired", _message(error), _traced(error), retryable=False)
        case Cancelled():
            return Failed("tool_error", "Cancelled", cancelled=why is not None)
        case _:
            is_cancelled = why is not None and type(error).__name__ == "CancelledError"
            return Failed("tool_error", _message(error), _traced(error), cancelled=is_cancelled)


def trace_of(error: BaseException) -> str:
    """The end of the traceback, from the user's code on."""
    try:
        lines = traceback.format_exception(type(error), error, _from_user(error.__traceback__), limit=-_FRAMES_MAX)
        text = "".join(lines)
    except Exception as broken:  # noqa: BLE001 - an exception with foreign code in its texts
        text = f"{type(error).__name__} (no traceback: {type(broken).__name__})"
    return clean(text if len(text) <= TRACE_MAX else "…" + text[1 - TRACE_MAX :], TRACE_MAX)


def _message(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a foreign __str__
        text = "(its message can't be read)"
    if isinstance(error, SystemExit):
        return clean(f"the function called exit({text})", MESSAGE_MAX)
    return clean(f"{name}: {text}" if text else name, MESSAGE_MAX)


def _from_user(frames: TracebackType | None) -> TracebackType | None:
    start = frames
    while start is not None and str(start.tb_frame.f_globals.get("__name__", "")).startswith(_OWN):
        start = start.tb_next
    return start or frames


def _traced(error: BaseException) -> Raw:
    return to_json({"type": clean(type(error).__qualname__, 200), "traceback": trace_of(error)})


def _pointed(pointer: str) -> Raw:
    return to_json({"pointer": clean(pointer, MESSAGE_MAX)})


def _detail(error: Fail) -> Raw:
    try:
        return to_json(error.detail, limit=PIECE_MAX)
    except UnserialisableError as broken:
        return to_json(clean(str(broken), MESSAGE_MAX))
