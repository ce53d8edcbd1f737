"""What a tool asks of people through its context, and what it gets back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from . import wire
from .signals import QuestionRefusedError, Released, UnansweredError

KEY_MAX = 100


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of a question. It is true unless somebody refused.

    Attributes:
        decision: `approve` or `reject`, where one was made.
        option: the id of the chosen option, where there were options.
        payload: the answer itself, in the shape that was asked for; the default where nobody answered in time.
        by: who answered; None where time did.
    """

    decision: str | None = None
    option: str | None = None
    payload: Any = None
    by: str | None = None

    def __bool__(self) -> bool:
        return self.decision != "reject"


def question_of(
    nth: int,
    title: str,
    *,
    kind: str,
    description: str | None,
    options: Sequence[str | Mapping[str, Any]] | None,
    schema: Mapping[str, Any] | None,
    blocking: bool,
    expires_in: float | None,
    on_expiry: str | None,
    default: Any,
    respondents: Sequence[str] | None,
    key: str | None,
) -> dict[str, Any]:
    """The question as the server takes it. Without a key it is known by its title and by how many were asked before it."""
    if default is not msgspec.UNSET and on_expiry is None:
        on_expiry = "default"
    members = {
        "kind": kind,
        "title": title,
        "key": key if key is not None else f"{nth}. {title}"[:KEY_MAX],
        "blocking": blocking,
        "description": description,
        "options": None
        if options is None
        else [{"id": o, "label": o} if isinstance(o, str) else dict(o) for o in options],
        "responseSchema": None if schema is None else dict(schema),
        "expiresInS": expires_in,
        "onExpiry": on_expiry,
        "respondents": None if respondents is None else list(respondents),
    }
    question = {name: value for name, value in members.items() if value is not None}
    return question if default is msgspec.UNSET else {**question, "default": default}


def reply_of(frame: wire.Reply) -> Reply:
    """What the server said.

    Raises:
        QuestionRefusedError: it could not be asked.
        Released: it is open, and the attempt gives its slot back.
        UnansweredError: nobody answered in time and no default was given, or it was withdrawn.
    """
    if frame.refusal is not None:
        raise QuestionRefusedError(frame.refusal)
    if frame.status == "open":
        raise Released
    response = msgspec.json.decode(frame.response)
    if response is None:
        raise UnansweredError(f"the question is {frame.status}", status=frame.status)
    return Reply(
        decision=response.get("decision"),
        option=response.get("selectedOptionId"),
        payload=response.get("payload"),
        by=response.get("submittedBy"),
    )


def status_of(frame: wire.Reply) -> str | None:
    """What became of a question that was taken back; None where there was none.

    Raises:
        QuestionRefusedError: it could not be taken back.
    """
    if frame.refusal is not None:
        raise QuestionRefusedError(frame.refusal)
    return frame.status or None
