"""The door of the programs that run inside an attempt: they ask people, with the token that stands in their environment.

The token says which run it is, so no path names one; the requests of an attempt that is over are refused.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec

from ringback.api.call import Call, wait_of
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.shapes import Interaction, InteractionList
from ringback.api.worker_reports import one_line
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.services.reports import MESSAGE_MAX
from ringback.views.interactions import interaction

Maybe = msgspec.UnsetType


class QuestionRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A question. Without a `key` it is the next one of its title, and `requestId` makes repeated requests one question."""

    kind: str
    title: str
    description: str | Maybe = msgspec.UNSET
    options: list[dict[str, Any]] | Maybe = msgspec.UNSET
    response_schema: dict[str, Any] | Maybe = msgspec.UNSET
    blocking: bool | Maybe = msgspec.UNSET
    expires_in_s: float | int | Maybe = msgspec.field(default=msgspec.UNSET, name="expiresInS")
    on_expiry: str | Maybe = msgspec.UNSET
    default: Any = msgspec.UNSET
    respondents: list[str] | Maybe = msgspec.UNSET
    key: str | Maybe = msgspec.UNSET
    request_id: str | Maybe = msgspec.UNSET


class ProgressRequest(msgspec.Struct, forbid_unknown_fields=True):
    """How far the work is, in its own units."""

    done: float | int | None = None
    total: float | int | None = None
    message: str | None = None


async def ask(call: Call) -> Reply:
    """Ask people something, or find the question as it stands. The answer comes with a look at it."""
    question: dict[str, Any] = msgspec.to_builtins(await call.read(QuestionRequest))
    request_id = question.pop("requestId", None)
    asked = await call.core.asking.ask(call.attempt, question, request_id=request_id)
    return reply_json(interaction(asked), headers={"location": f"{_QUESTIONS}/{asked.interaction_id}"})


async def listed(call: Call) -> Reply:
    """What the run asks and asked, oldest first."""
    found = await call.core.interactions.of_run(call.attempt)
    return reply_json({"items": [interaction(each) for each in found]})


async def show(call: Call) -> Reply:
    """A question, as soon as it is over, or as it stands after `Prefer: wait=N` seconds (30 at most)."""
    within_s = wait_of(call.header("prefer")) or 0
    found = await call.core.asking.see(call.attempt, call.path["interaction_id"], within_s=within_s)
    return reply_json(interaction(found))


async def withdraw(call: Call) -> Reply:
    """Take a question back: nobody can answer it any more. What is over already gets 409, which shows how it ended."""
    return reply_json(interaction(await call.core.asking.withdraw(call.attempt, call.path["interaction_id"])))


async def progress(call: Call) -> Reply:
    """Tell how far the work is."""
    told = await call.read(ProgressRequest)
    message = None if told.message is None else one_line(told.message, MESSAGE_MAX)
    facts = {"done": told.done, "total": told.total, "message": message}
    given = {name: value for name, value in facts.items() if value is not None}
    if not given:
        raise InvalidInputError(Flaw("", "one of done, total and message is needed"))
    await call.core.asking.progress(call.attempt, given)
    return Reply(HTTPStatus.NO_CONTENT)


_QUESTIONS = "/v1/attempt/interactions"
ENDPOINTS = [
    Endpoint(
        method="POST",
        path=_QUESTIONS,
        scope=None,
        of_attempt=True,
        handler=ask,
        summary="Ask from inside an attempt",
        takes=QuestionRequest,
        gives={200: Interaction},
    ),
    Endpoint(
        method="GET",
        path=_QUESTIONS,
        scope=None,
        of_attempt=True,
        handler=listed,
        summary="What the attempt's run asks",
        gives={200: InteractionList},
    ),
    Endpoint(
        method="GET",
        path=f"{_QUESTIONS}/{{interaction_id}}",
        scope=None,
        of_attempt=True,
        handler=show,
        summary="Wait for an answer inside an attempt",
        headers={"Prefer": "wait=N: seconds to wait for the answer"},
        gives={200: Interaction},
    ),
    Endpoint(
        method="POST",
        path=f"{_QUESTIONS}/{{interaction_id}}/withdraw",
        scope=None,
        of_attempt=True,
        handler=withdraw,
        summary="Withdraw a question from inside an attempt",
        gives={200: Interaction},
    ),
    Endpoint(
        method="POST",
        path="/v1/attempt/progress",
        scope=None,
        of_attempt=True,
        handler=progress,
        summary="Tell progress from inside an attempt",
        takes=ProgressRequest,
        gives={204: None},
    ),
]
