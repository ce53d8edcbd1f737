"""What an answer of somebody else's job API means: is the job still at work, how did it end, what did it bring.

A job that says nothing of a state is judged by the status of HTTP: 202 is at work, any other 2xx is its result. A job that once
told its state must go on doing so: an error page with status 200 is no result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, TypeAlias

from ringback.domain.http_styles import STYLES
from ringback.domain.http_template import MISSING, at

Word: TypeAlias = Literal["active", "done", "failed", "cancelled", "unclear"]
GOOGLE_CANCELLED: Final = 1  # google.rpc.Code
TEXT_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """A profile's `follow` with its style's defaults. Pointers are tried in their order."""

    on: tuple[int, ...]
    headers: tuple[str, ...]
    location: tuple[str, ...]
    status_url: str | None
    state: tuple[str, ...]
    running: tuple[Any, ...] | None
    done: tuple[Any, ...]
    failed: tuple[Any, ...]
    cancelled: tuple[Any, ...]
    progress: tuple[str, ...]
    total: tuple[str, ...]
    message: tuple[str, ...]
    error: tuple[str, ...]
    result: tuple[str, ...]
    result_location: tuple[str, ...]
    result_url: str | None
    cancel_method: str
    cancel_url: str
    interval_s: float
    interval_max_s: float
    patience_s: float

    @classmethod
    def of(cls, http: Mapping[str, Any]) -> Self:
        """Read the `http` member of a profile that was found sound."""
        said = http.get("follow") or {}
        told: dict[str, Any] = {**STYLES[said.get("style", "auto")], **said}
        return cls(
            on=tuple(told["on"]),
            headers=_several(told["headers"]),
            location=_several(told["location"]),
            status_url=told.get("statusUrl"),
            state=_several(told["state"]),
            running=None if told.get("running") is None else tuple(told["running"]),
            done=tuple(told["done"]),
            failed=tuple(told["failed"]),
            cancelled=tuple(told["cancelled"]),
            progress=_several(told["progress"]),
            total=_several(told["total"]),
            message=_several(told["message"]),
            error=_several(told["error"]),
            result=_several(told["result"]),
            result_location=_several(told["resultLocation"]),
            result_url=told.get("resultUrl"),
            cancel_method=told["cancelMethod"],
            cancel_url=told["cancelUrl"],
            interval_s=told["intervalS"],
            interval_max_s=max(told["intervalMaxS"], told["intervalS"]),
            patience_s=told["patienceS"],
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a job stands; `state` is its own word for it, None when it said none."""

    word: Word
    state: str | None = None


def judge(follow: Follow, status: int, document: Any, *, knew_state: bool = False) -> Verdict:
    """How a job stands by an answer of status 2xx. `document` is its JSON, MISSING where it has none.

    Args:
        knew_state: whether the job has told a state before.
    """
    value = _state(follow, document)
    if value is not MISSING:
        return _judged(follow, value, document)
    if _is_operation(document):  # Google leaves `done` out until it is true
        return Verdict("active")
    if status == 202:
        return Verdict("active")
    return Verdict("unclear" if knew_state else "done")


def _state(follow: Follow, document: Any) -> Any:
    for pointer in follow.state:
        value = at(pointer, document)
        if value is not MISSING and isinstance(value, str | bool | int):
            return value
    return MISSING


def _judged(follow: Follow, value: Any, document: Any) -> Verdict:
    shown = value if isinstance(value, str) else str(value).lower()
    error = at("/error", document)
    if value is True and _is_among(True, follow.done) and isinstance(error, Mapping):
        return Verdict("cancelled" if error.get("code") == GOOGLE_CANCELLED else "failed", shown)
    words: tuple[tuple[Word, Sequence[Any]], ...] = (
        ("done", follow.done),
        ("failed", follow.failed),
        ("cancelled", follow.cancelled),
    )
    for word, known in words:
        if _is_among(value, known):
            return Verdict(word, shown)
    if follow.running is not None and not _is_among(value, follow.running):
        return Verdict("unclear", shown)
    return Verdict("active", shown)


def _is_operation(document: Any) -> bool:
    """A long-running operation of Google's kind that is under way."""
    is_one = isinstance(document, Mapping) and isinstance(document.get("name"), str) and "metadata" in document
    return is_one and "response" not in document and "error" not in document


def _is_among(value: Any, known: Sequence[Any]) -> bool:
    return _plain(value) in [_plain(each) for each in known]


def _plain(value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return ("text", value.strip().casefold().replace("-", "_").replace(" ", "_"))
    return (type(value).__name__, value)


def progress_of(follow: Follow, document: Any) -> tuple[float | None, float | None, str | None]:
    """Done, total and message, as far as the job tells them."""
    return _number(follow.progress, document), _number(follow.total, document), text_of(follow.message, document)


def _number(pointers: Sequence[str], document: Any) -> float | None:
    for pointer in pointers:
        value = at(pointer, document)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    return None


def text_of(pointers: Sequence[str], document: Any) -> str | None:
    """The first text that a pointer finds."""
    for pointer in pointers:
        value = at(pointer, document)
        if isinstance(value, str) and value.strip():
            return value[:TEXT_MAX]
    return None


def result_of(follow: Follow, document: Any) -> Any:
    """The part of the last answer that is the result; all of it when the pointers find nothing."""
    for pointer in follow.result:
        value = at(pointer, document)
        if value is not MISSING:
            return value
    return document


def _several(told: Any) -> tuple[str, ...]:
    return (told,) if isinstance(told, str) else tuple(told)
