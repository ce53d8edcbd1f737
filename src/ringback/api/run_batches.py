"""Many runs in one request. Each is accepted or refused for itself, and all that are accepted share a flush."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec

from ringback.api.call import Call
from ringback.api.problems import document_of
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.run_requests import RunRequest, start_request
from ringback.api.shapes import BatchResult
from ringback.domain.errors import Flaw, IdempotencyKeyError, InvalidInputError, RingbackError
from ringback.views.runs import run_ref

RUNS_MAX = 1_000
BODY_MAX = 16 << 20


class RunBatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Runs to start, each as in a request of its own; a key of its own goes into its `idempotencyKey`."""

    runs: list[RunRequest]


async def start_many(call: Call) -> Reply:
    """202 with an item for each run in the order given: which run it became, or the problem with it."""
    batch = await call.read(RunBatch, BODY_MAX)
    if not 1 <= len(batch.runs) <= RUNS_MAX:
        raise InvalidInputError(Flaw("/runs", f"must have 1 to {RUNS_MAX} items"))
    if call.header("idempotency-key") is not None:
        raise IdempotencyKeyError("a batch has no Idempotency-Key header; each run has its own idempotencyKey")
    items = await asyncio.gather(*(_start_one(call, body) for body in batch.runs))
    return reply_json({"items": items}, HTTPStatus.ACCEPTED)


async def _start_one(call: Call, body: RunRequest) -> dict[str, Any]:
    try:
        request = start_request(call, body)
        started = await call.core.starting.start(
            call.project.project_id, call.principal.owner, request, request_id=call.request_id
        )
    except RingbackError as error:
        return {"problem": document_of(error, call.request_id)}
    item: dict[str, Any] = dict(run_ref(started.run))
    return {**item, "replayed": True} if started.is_replay else item


ENDPOINTS = [
    Endpoint(
        method="POST",
        path="/v1/runs/batch",
        scope="runs:write",
        handler=start_many,
        summary="Start many runs, each accepted or refused for itself",
        takes=RunBatch,
        gives={202: BatchResult},
    ),
]
