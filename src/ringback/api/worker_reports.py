"""Reports as they come over the wire, and what they are to the services. Sizes are checked here, meaning is decided there."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

import msgspec

from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.ids import RunId, run_id_of
from ringback.domain.json_values import text_flaw
from ringback.domain.runs import AttemptOutcome, NewEvent
from ringback.domain.spaces import KINDS, SPACE_ID, STATUSES
from ringback.domain.states import FailureKind, TimeLimit
from ringback.services.reports import (
    ERROR_MAX,
    MESSAGE_MAX,
    SUMMARY_MAX,
    Asked,
    AskReport,
    CallbackReport,
    ChildReport,
    ContinueReport,
    EventsReport,
    LookReport,
    Report,
    RequestsReport,
    SettleReport,
    SpaceReport,
    StartReport,
    UseReport,
    WithdrawReport,
)
from ringback.views.event_shapes import SHAPES, Count

CHUNK_BYTES_MAX = 256 * 1024
PROVIDER_MAX = 50
LOCATOR_MAX = 1_000
LEVELS_MAX = 200
CHILDREN_MAX = 200
_UNKEPT = re.compile("[\0\ud800-\udfff]")
_encode = msgspec.json.Encoder().encode


class WireError(msgspec.Struct):
    """Why an attempt failed."""

    kind: FailureKind = FailureKind.TOOL_ERROR
    message: str = ""
    detail: Any = None


class WireEvent(msgspec.Struct):
    """One event of an attempt; which members count depends on `type`."""

    type: str
    stream: str | None = None
    offset: Count = 0
    data: str | None = None
    bytes: Count = 0
    done: float | int | None = None
    total: float | int | None = None
    message: str | None = None
    items: list[Any] | None = None
    value: Any = None


class WireCallback(msgspec.Struct):
    """Which job of the run is meant, and the secret that deliveries are signed with."""

    start: int
    secret: str | None = None


class WireSpace(msgspec.Struct, rename="camel"):
    """How a run space stands."""

    run_space_id: str
    status: str
    provider_type: str = "custom"
    kind: str = "custom"
    locator: str | None = None
    reason: str | None = None
    kept: bool = False


class WireReport(msgspec.Struct, rename="camel"):
    """One report; which members count depends on `kind`."""

    kind: str
    run_id: str
    fence: int
    provider: str | None = None
    run_space_id: str | None = None
    events: list[WireEvent] = []
    seq: int | None = None
    request_id: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    relation: str = "tool_subrun"
    resource_revision_id: str | None = None
    children: list[str] = []
    child: str = ""
    request: dict[str, Any] = {}
    question: dict[str, Any] = {}
    interaction_id: str | None = None
    key: str = ""
    name: str = ""
    value: Any = msgspec.UNSET
    delete: bool = False
    if_version: int | None = None
    callback: WireCallback | None = None
    after: int = 0
    space: WireSpace | None = None
    outcome: AttemptOutcome | None = None
    result: Any = msgspec.UNSET
    summary: str | None = None
    exit_code: int | None = None
    signal: str | int | None = None
    error: WireError | None = None
    limit: TimeLimit | None = None
    forced: bool | None = None
    retryable: bool | None = None
    parked: bool = False


def report_of(wire: WireReport, index: int) -> Report:
    """What `wire` means.

    Raises:
        InvalidInputError: a member that its kind needs is missing or wrong.
    """
    run_id = run_id_of(wire.run_id) or RunId(wire.run_id)
    match wire.kind:
        case "start":
            return StartReport(run_id=run_id, fence=wire.fence, provider=wire.provider, run_space_id=wire.run_space_id)
        case "events":
            return _events(wire, run_id, f"/reports/{index}/events")
        case "settle" if wire.outcome is not None and wire.outcome is not AttemptOutcome.LOST:
            return _settle(wire, run_id, wire.outcome, f"/reports/{index}")
        case _:
            return _asked(wire, run_id, f"/reports/{index}")


def _asked(wire: WireReport, run_id: RunId, pointer: str) -> Asked:
    """What the attempt wants of the server."""
    match wire.kind:
        case "child" if wire.request_id and wire.tool:
            return ChildReport(
                run_id=run_id,
                fence=wire.fence,
                request_id=wire.request_id,
                tool=wire.tool,
                arguments=wire.arguments,
                relation=wire.relation,
                revision_id=wire.resource_revision_id,
            )
        case "look" if 1 <= len(wire.children) <= CHILDREN_MAX:
            return LookReport(run_id=run_id, fence=wire.fence, children=tuple(wire.children))
        case "continue" if wire.child:
            return ContinueReport(run_id=run_id, fence=wire.fence, child=wire.child, request=wire.request)
        case "ask" if wire.question:
            return AskReport(
                run_id=run_id, fence=wire.fence, question=wire.question, interaction_id=wire.interaction_id
            )
        case "withdraw" if wire.key:
            return WithdrawReport(run_id=run_id, fence=wire.fence, key=wire.key)
        case "callback" if wire.callback is not None:
            wanted = wire.callback
            return CallbackReport(run_id=run_id, fence=wire.fence, start_no=wanted.start, secret=wanted.secret)
        case "requests":
            return RequestsReport(run_id=run_id, fence=wire.fence, after=wire.after)
        case "space" if wire.space is not None:
            return _space(wire, run_id, wire.space, f"{pointer}/space")
        case "kv.read" | "kv.write" | "secrets.read" | "config.read":
            return _use(wire, run_id, pointer)
        case _:
            raise InvalidInputError(Flaw(pointer, "not a report that this server knows"))


def _use(wire: WireReport, run_id: RunId, pointer: str) -> UseReport:
    is_write = wire.kind == "kv.write"
    if is_write and (wire.value is msgspec.UNSET) != wire.delete:
        raise InvalidInputError(Flaw(f"{pointer}/value", "a write has a value, or deletes"))
    has_value = is_write and not wire.delete
    return UseReport(
        run_id=run_id,
        fence=wire.fence,
        capability=wire.kind,
        key=wire.name if wire.kind == "secrets.read" else wire.key,
        value=_encode(_shallow(wire.value, f"{pointer}/value")).decode() if has_value else None,
        if_version=wire.if_version,
        request_id=wire.request_id,
    )


def _space(wire: WireReport, run_id: RunId, space: WireSpace, pointer: str) -> SpaceReport:
    flaws = []
    if not SPACE_ID.fullmatch(space.run_space_id):
        flaws.append(Flaw(f"{pointer}/runSpaceId", "must have 8 to 64 letters, digits, _ or -"))
    if space.status not in STATUSES:
        flaws.append(Flaw(f"{pointer}/status", f"must be one of {', '.join(STATUSES)}"))
    if space.kind not in KINDS:
        flaws.append(Flaw(f"{pointer}/kind", f"must be one of {', '.join(KINDS)}"))
    if not 1 <= len(space.provider_type) <= PROVIDER_MAX:
        flaws.append(Flaw(f"{pointer}/providerType", f"must have 1 to {PROVIDER_MAX} characters"))
    if flaws:
        raise InvalidInputError(*flaws)
    return SpaceReport(
        run_id=run_id,
        fence=wire.fence,
        run_space_id=space.run_space_id,
        status=space.status,
        provider_type=one_line(space.provider_type, PROVIDER_MAX),
        kind=space.kind,
        locator=None if space.locator is None else one_line(space.locator, LOCATOR_MAX),
        reason=None if space.reason is None else one_line(space.reason, SUMMARY_MAX),
        is_kept=space.kept,
    )


def _settle(wire: WireReport, run_id: RunId, outcome: AttemptOutcome, pointer: str) -> SettleReport:
    body: dict[str, Any] = {}
    if wire.result is not msgspec.UNSET:
        body["result"] = _shallow(wire.result, f"{pointer}/result")
    if wire.exit_code is not None:
        body["exitCode"] = wire.exit_code
    if wire.signal is not None:
        body["signal"] = wire.signal
    error = wire.error
    message = None if error is None else clean(error.message, ERROR_MAX)
    if error is not None:
        body["error"] = {"kind": error.kind.value, "message": message}
        if error.detail is not None:
            body["error"]["detail"] = error.detail
    return SettleReport(
        run_id=run_id,
        fence=wire.fence,
        outcome=outcome,
        result=body,
        summary=None if wire.summary is None else one_line(wire.summary, SUMMARY_MAX),
        error_kind=None if error is None else error.kind,
        error=message,
        time_limit=wire.limit,
        was_forced=bool(wire.forced),
        is_retryable=wire.retryable is not False,
        is_parked=wire.parked,
    )


def _events(wire: WireReport, run_id: RunId, pointer: str) -> EventsReport:
    events: list[NewEvent] = []
    progress: dict[str, Any] | None = None
    checkpoint: str | None = None
    flags = {"cancel.delivered": False, "cancel.acknowledged": False}
    for index, event in enumerate(wire.events):
        match event.type:
            case "output.chunk" if event.stream in ("stdout", "stderr"):
                data = _bytes(event.data, f"{pointer}/{index}/data")
                body = {"stream": event.stream, "offset": event.offset, "length": len(data)}
                events.append(NewEvent("output.chunk", body, data))
            case "output.dropped" if event.stream in ("stdout", "stderr"):
                events.append(
                    NewEvent("output.dropped", {"stream": event.stream, "offset": event.offset, "bytes": event.bytes})
                )
            case "page" if event.items is not None:
                items = _shallow(event.items, f"{pointer}/{index}/items")
                events.append(NewEvent("artifact.updated", {"kind": "page", "items": items}))
            case "progress":
                progress = _progress(event)
            case "checkpoint":
                checkpoint = _encode(_shallow(event.value, f"{pointer}/{index}/value")).decode()
            case "mcp.response" if not _is_answer(event.value):
                raise InvalidInputError(
                    Flaw(f"{pointer}/{index}/value", "must be {number, response: {result or error}}")
                )
            case "message.completed" | "tool_call.completed" | "tool_result" if isinstance(event.value, dict):
                events.append(NewEvent(event.type, _of_session(event, f"{pointer}/{index}/value")))
            case "mcp.opened" | "mcp.response" | "mcp.notification" if isinstance(event.value, dict):
                events.append(NewEvent(event.type, _of_session(event, f"{pointer}/{index}/value")))
            case "cancel.delivered" | "cancel.acknowledged":
                flags[event.type] = True
            case _:
                raise InvalidInputError(Flaw(f"{pointer}/{index}", "not an event that a worker may report"))
    return EventsReport(
        run_id=run_id,
        fence=wire.fence,
        events=tuple(events),
        progress=progress,
        cancel_delivered=flags["cancel.delivered"],
        cancel_acknowledged=flags["cancel.acknowledged"],
        checkpoint=checkpoint,
        number=wire.seq,
    )


def _is_answer(value: Any) -> bool:
    if not isinstance(value, dict) or type(value.get("number")) is not int:
        return False
    response = value.get("response")
    return isinstance(response, dict) and len({"result", "error"} & response.keys()) == 1


def _of_session(event: WireEvent, pointer: str) -> dict[str, Any]:
    """What a session or an agent tells, in the shape that its readers rely on."""
    try:
        told: dict[str, Any] = msgspec.convert(event.value, SHAPES[event.type])
    except msgspec.ValidationError as error:
        raise InvalidInputError(Flaw(pointer, str(error))) from None
    _shallow(told, pointer)
    return told


def _shallow(value: Any, pointer: str) -> Any:
    """`value`, unless it is nested so deeply that it could come in and never go out again."""
    layer = [value]
    for _ in range(LEVELS_MAX):
        below = (each.values() if isinstance(each, dict) else each for each in layer if isinstance(each, dict | list))
        layer = [item for items in below for item in items if isinstance(item, dict | list)]
        if not layer:
            return value
    raise InvalidInputError(Flaw(pointer, f"nested deeper than {LEVELS_MAX} levels"))


def _progress(event: WireEvent) -> dict[str, Any]:
    message = None if event.message is None else one_line(event.message, MESSAGE_MAX)
    parts = {"done": event.done, "total": event.total, "message": message}
    return {name: value for name, value in parts.items() if value is not None}


def _bytes(text: str | None, pointer: str) -> bytes:
    try:
        data = base64.b64decode(text or "", validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInputError(Flaw(pointer, "must be base64")) from None
    if len(data) > CHUNK_BYTES_MAX:
        raise InvalidInputError(Flaw(pointer, f"at most {CHUNK_BYTES_MAX} bytes"))
    return data


def clean(text: str, most: int) -> str:
    """`text` without what no database keeps faithfully, at most `most` characters."""
    kept = text[:most]
    return (
        kept
        if text_flaw(kept) is None
        else "".join(c if c != "\0" and not "\ud800" <= c <= "\udfff" else "\ufffd" for c in kept)
    )


def one_line(text: str, most: int) -> str:
    """`text` on one line, without control characters."""
    return "".join(char if char.isprintable() else " " for char in clean(text, most))
