"""The runtime protocol over HTTP: claim, report, heartbeat, detach. How a runtime attaches is in `attaching`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

import msgspec

from ringback.api.call import Call
from ringback.api.catalogue_shapes import HeartbeatResult, ReportResults, WorkGiven
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.worker_reports import WireReport, report_of
from ringback.domain.errors import SessionExpiredError
from ringback.domain.ids import RunId
from ringback.domain.moments import MILLISECOND, SECOND, rfc3339
from ringback.domain.sessions import Session
from ringback.services.handing_out import StopOrder, Work

T = TypeVar("T")
REPORTS_BYTES_MAX = 16 << 20


class ClaimRequest(msgspec.Struct, rename="camel"):
    """How many slots are free, and how long to wait for work; 0 slots wait for stops alone."""

    slots: int = 0
    wait_ms: int = 0
    connection_epoch: int | None = None


class Held(msgspec.Struct, rename="camel"):
    """An attempt that the worker holds."""

    run_id: str
    fence: int


class HeartbeatRequest(msgspec.Struct, rename="camel"):
    """A sign of life, with what the worker holds."""

    held: list[Held] = []
    connection_epoch: int | None = None


class ReportRequest(msgspec.Struct, rename="camel"):
    """What happened, and how many slots are free for claims in the same answer."""

    reports: list[WireReport] = []
    slots: int = 0
    connection_epoch: int | None = None


async def claim(call: Call) -> Reply:
    """New assignments and stops, as soon as there are any, or after `waitMs`."""
    asked = await call.read(ClaimRequest)
    session = await _session(call, asked.connection_epoch)
    wait_s = max(0, asked.wait_ms) * MILLISECOND / SECOND
    work = await _unless_gone(
        call, call.core.workers.handing_out.claim(session, slots=max(0, asked.slots), wait_s=wait_s)
    )
    return reply_json(_work(work) if work else {"claims": [], "cancels": []})


async def report(call: Call) -> Reply:
    """Decide each report in order, for itself; with `slots`, the next assignments come in the same answer."""
    told = await call.read(ReportRequest, REPORTS_BYTES_MAX)
    session = await _session(call, told.connection_epoch)
    reports = [report_of(each, index) for index, each in enumerate(told.reports)]
    answers, work = await call.core.workers.exchange(session, reports, slots=max(0, told.slots))
    return reply_json({"results": answers, **_work(work)})


async def heartbeat(call: Call) -> Reply:
    """Renew the lease; what the worker holds and the ledger does not know is `lost` and must be ended at once."""
    beat = await call.read(HeartbeatRequest)
    held = [(RunId(each.run_id), each.fence) for each in beat.held]
    session = await _session(call, beat.connection_epoch)
    work, lost = await call.core.workers.heartbeat(session.session_id, held)
    body = _work(work)
    del body["claims"]
    body["lost"] = [{"runId": run_id, "fence": fence} for run_id, fence in lost]
    return reply_json(body)


async def detach(call: Call) -> Reply:
    """Close the session; what it still holds is given back at once."""
    session = await _session(call, None)
    await call.core.workers.detach(session.session_id)
    return Reply(204)


async def _session(call: Call, epoch: int | None) -> Session:
    """The session that the path names, if it is of the epoch that the runtime believes in.

    Raises:
        SessionExpiredError: it is over, or of another epoch.
    """
    session = await call.core.workers.session(call.path["session_id"])
    if epoch is not None and epoch != session.epoch:
        raise SessionExpiredError(session.session_id)
    return session


def _work(work: Work) -> dict[str, Any]:
    stops = [_stop(each) for each in work.stops]
    body = {"claims": work.claims, "cancels": stops, "leaseExpiresAt": rfc3339(work.lease_until)}
    named = {"answered": work.answered, "waiting": work.waiting}
    return {**body, **{name: list(runs) for name, runs in named.items() if runs}}


def _stop(order: StopOrder) -> dict[str, Any]:
    body = {"runId": order.run_id, "fence": order.fence, "graceMs": order.grace // MILLISECOND}
    return body if order.reason is None else {**body, "reason": order.reason}


async def _unless_gone(call: Call, work: Awaitable[T]) -> T | None:
    """The value of `work`, or None when the caller went away first; then `work` is cancelled."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(call.receive())
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        gone.cancel()
        if working.cancel():
            await asyncio.wait((working,))


_AT = "/v1/workers/{session_id}"
_MAY = "worker:attach"
ENDPOINTS = [
    Endpoint(
        method="POST",
        path=f"{_AT}/report",
        scope=_MAY,
        has_project=False,
        is_platform=True,
        handler=report,
        summary="Tell what happened",
        takes=ReportRequest,
        gives={200: ReportResults},
    ),
    Endpoint(
        method="POST",
        path=f"{_AT}/claim",
        scope=_MAY,
        has_project=False,
        is_platform=True,
        handler=claim,
        summary="Wait for work",
        takes=ClaimRequest,
        gives={200: WorkGiven},
    ),
    Endpoint(
        method="POST",
        path=f"{_AT}/heartbeat",
        scope=_MAY,
        has_project=False,
        is_platform=True,
        handler=heartbeat,
        summary="Renew the lease",
        takes=HeartbeatRequest,
        gives={200: HeartbeatResult},
    ),
    Endpoint(
        method="POST",
        path=f"{_AT}/detach",
        scope=_MAY,
        has_project=False,
        is_platform=True,
        handler=detach,
        summary="Give everything back",
        gives={204: None},
    ),
]
