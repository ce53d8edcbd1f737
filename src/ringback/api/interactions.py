"""The door to questions: what a run asks, and answering it, once."""

from __future__ import annotations

from typing import Any

import msgspec

from ringback.api.call import Call
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.shapes import Interaction, InteractionList
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.services.questions import STATUSES, Answer
from ringback.views.interactions import interaction


class AnswerRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """An answer: a decision (`approve`, `reject`), an option, or a payload in the shape that the question asks for."""

    decision: str | None = None
    selected_option_id: str | None = None
    payload: Any = msgspec.UNSET


async def listed(call: Call) -> Reply:
    """The questions of a run, oldest first; with `status=open` those that wait for an answer."""
    run = await call.core.runs.get(call.project.project_id, call.path["run_id"], "interactions")
    wanted = call.listed("status")
    if unknown := sorted(set(wanted) - STATUSES):
        raise InvalidInputError(Flaw("/status", f"{unknown[0][:40]!r} is none of {', '.join(sorted(STATUSES))}"))
    found = await call.core.interactions.of_run(run)
    return reply_json({"items": [interaction(each) for each in found if not wanted or each.status in wanted]})


async def show(call: Call) -> Reply:
    """One question."""
    found, _ = await call.core.interactions.get(call.project.project_id, call.path["interaction_id"])
    return reply_json(interaction(found))


async def respond(call: Call) -> Reply:
    """Answer a question. The first answer counts; a later one gets 409, which shows the first."""
    asked = await call.read(AnswerRequest)
    answer = Answer(
        decision=asked.decision,
        selected_option_id=asked.selected_option_id,
        payload=None if asked.payload is msgspec.UNSET else asked.payload,
        has_payload=asked.payload is not msgspec.UNSET,
    )
    found = await call.core.interactions.respond(
        call.project.project_id,
        call.path["interaction_id"],
        answer,
        by=call.core.access.respondent(call.principal, call.project.project_id),
    )
    return reply_json(interaction(found))


async def withdraw(call: Call) -> Reply:
    """Take a question back: nobody can answer it any more. What is over already gets 409, which shows how it ended."""
    found = await call.core.interactions.withdraw(call.project.project_id, call.path["interaction_id"])
    return reply_json(interaction(found))


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/runs/{run_id}/interactions",
        scope="runs:read",
        handler=listed,
        summary="What a run asks",
        query={"status": "`open`, `answered`, `rejected`, `expired` or `withdrawn`; several separated by commas."},
        gives={200: InteractionList},
    ),
    Endpoint(
        method="GET",
        path="/v1/interactions/{interaction_id}",
        scope="runs:read",
        handler=show,
        summary="Look at a question",
        gives={200: Interaction},
    ),
    Endpoint(
        method="POST",
        path="/v1/interactions/{interaction_id}/respond",
        scope="interactions:answer",
        handler=respond,
        summary="Answer a question",
        takes=AnswerRequest,
        gives={200: Interaction},
    ),
    Endpoint(
        method="POST",
        path="/v1/interactions/{interaction_id}/withdraw",
        scope="runs:write",
        handler=withdraw,
        summary="Withdraw a question",
        gives={200: Interaction},
    ),
]
