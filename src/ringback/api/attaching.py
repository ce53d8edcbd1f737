"""How a runtime attaches, and the operator's look at what is attached."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import msgspec

from ringback.api.call import Call, is_true, text_member
from ringback.api.catalogue_shapes import Attached, RuntimeConnection, RuntimeConnectionList
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.domain.errors import Flaw, InvalidInputError, ProtocolVersionError
from ringback.domain.moments import MILLISECOND, rfc3339
from ringback.domain.runtimes import PROTOCOL_VERSIONS, capability_flaws
from ringback.services.access import Project
from ringback.services.connections import Attach
from ringback.views.connections import connection, ended_connection

SLOTS_MAX = 1024
OFFERS_MAX = 1000
HELLO_BYTES_MAX = 16 << 20
REASON_MAX = 500
PROVIDER = re.compile(r"[A-Za-z0-9_.-]{1,50}")


class AttachRequest(msgspec.Struct, rename="camel"):
    """What a runtime says of itself when it attaches; members that the server does not know are left alone."""

    name: str
    incarnation: str
    protocol_version: int
    slots: int
    offers: list[str]
    labels: dict[str, str] = {}
    capabilities: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] = []
    runtime_connection_id: str | None = None
    connection_epoch: int | None = None
    provider: str = "local"


class ReconnectRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Why a runtime is made to come back."""

    reason: str | None = None


async def attach(call: Call) -> Reply:
    """Open a session: one process incarnation with one lease, under the capabilities that both sides know."""
    hello = await call.read(AttachRequest, HELLO_BYTES_MAX)
    if hello.protocol_version not in PROTOCOL_VERSIONS:
        raise ProtocolVersionError(hello.protocol_version, PROTOCOL_VERSIONS)
    if flaws := [*_flaws(hello), *capability_flaws(hello.capabilities)]:
        raise InvalidInputError(*flaws)
    workers = call.core.workers
    session = await workers.attach(_home(call, hello).project_id, call.principal.owner, _introduction(hello))
    sets = await call.core.connections.sets((session.capability_set,))
    body = {
        "sessionId": session.session_id,
        "runtimeConnectionId": session.connection_id,
        "connectionEpoch": session.epoch,
        "epoch": session.epoch,
        "protocolVersion": session.protocol_version,
        "effectiveSdkCapabilities": sets[session.capability_set or ""],
        "capabilitySnapshotId": session.capability_set,
        "heartbeatIntervalMs": workers.heartbeat_every // MILLISECOND,
        "leaseMs": workers.lease // MILLISECOND,
        "leaseExpiresAt": rfc3339(session.lease_until),
    }
    return reply_json(body)


def _flaws(hello: AttachRequest) -> list[Flaw]:
    flaws = []
    if not 1 <= hello.slots <= SLOTS_MAX:
        flaws.append(Flaw("/slots", f"must lie between 1 and {SLOTS_MAX}"))
    if len(hello.offers) > OFFERS_MAX or any("/" not in each or "|" in each for each in hello.offers):
        flaws.append(Flaw("/offers", f"at most {OFFERS_MAX} of the form POOL/NEED"))
    if not all(1 <= len(text) <= 200 for text in (hello.name, hello.incarnation)):
        flaws.append(Flaw("/name", "name and incarnation have 1 to 200 characters"))
    if not PROVIDER.fullmatch(hello.provider):
        flaws.append(Flaw("/provider", "must have 1 to 50 letters, digits, _ . or -"))
    if hello.connection_epoch is not None and hello.connection_epoch < 0:
        flaws.append(Flaw("/connectionEpoch", "must be at least 0"))
    return flaws


def _introduction(hello: AttachRequest) -> Attach:
    return Attach(
        name=hello.name,
        incarnation=hello.incarnation,
        slots=hello.slots,
        offers=tuple(hello.offers),
        labels=hello.labels,
        capabilities=tuple(hello.capabilities),
        tools=tuple(hello.tools),
        protocol_version=hello.protocol_version,
        connection_id=hello.runtime_connection_id,
        epoch=hello.connection_epoch,
        provider=hello.provider,
    )


def _home(call: Call, hello: AttachRequest) -> Project:
    """The project that gets the worker's tools. One that brings none works for all of them and need not name one."""
    return (
        call.core.access.authorize(call.principal, _MAY, call.header("ringback-project"))
        if hello.tools
        else call.project
    )


async def listed(call: Call) -> Reply:
    """Connections, the last attach first; of the attempts that they hold, those of this project."""
    found = await call.core.connections.list(live_only=not is_true(call.query().get("ended")))
    return reply_json({"items": [connection(each, call.project) for each in found]})


async def reconnect(call: Call) -> Reply:
    """End a runtime's session, so that it attaches anew with the next epoch; what it holds is lost by the rules of its lease."""
    asked = await call.read(ReconnectRequest)
    reason = text_member(asked.reason, "/reason", REASON_MAX)
    session = await call.core.connections.reconnect(call.path["connection_id"], by=call.principal.owner, reason=reason)
    return reply_json(ended_connection(session), HTTPStatus.ACCEPTED)


_MAY = "worker:attach"
ENDPOINTS = [
    Endpoint(
        method="POST",
        path="/v1/workers/attach",
        scope=_MAY,
        has_project=False,
        is_platform=True,
        handler=attach,
        summary="Attach",
        headers={"Ringback-Project": "Slug of the project that gets the worker's tools, where there are several"},
        takes=AttachRequest,
        gives={200: Attached},
    ),
    Endpoint(
        method="GET",
        path="/v1/runtime-connections",
        scope="runs:read",
        handler=listed,
        summary="List connections of runtimes",
        gives={200: RuntimeConnectionList},
        query={"ended": "`true` for those that are over, too."},
    ),
    Endpoint(
        method="POST",
        path="/v1/runtime-connections/{connection_id}/reconnect",
        scope="access:admin",
        has_project=False,
        is_platform=True,
        handler=reconnect,
        summary="Make a runtime attach anew",
        takes=ReconnectRequest,
        gives={202: RuntimeConnection},
    ),
]
