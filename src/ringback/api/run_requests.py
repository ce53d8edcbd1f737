"""What starts a run: a body that names a resource and holds its input, told apart by `mode`."""

from __future__ import annotations

from typing import Literal

import msgspec

from ringback.api.call import Call
from ringback.api.run_inputs import MODES, Input, ToolInput, plain
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.idempotency import one_key, unquote
from ringback.services.start_request import StartRequest


class RunRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A run to start. `tool` is short for `resourceType` "tool" with its name or id in `resourceId`.

    `resourceId` is a resource's id, its name or an alias; `releaseChannel` is `stable` unless another one is named, and
    `resourceRevisionId` names the revision itself.
    """

    input: Input = msgspec.field(default_factory=ToolInput)
    resource_type: Literal["tool", "agent", "mcp_server"] | None = None
    resource_id: str | None = None
    resource_revision_id: str | None = None
    release_channel: str | None = None
    tool: str | None = None
    idempotency_key: str | None = None
    depends_on: list[str] = []
    follow_up_of: str | None = None
    run_on: Literal["success", "always"] = "success"
    timeout_seconds: float | None = None
    total_timeout_seconds: float | None = None
    not_before: str | None = None
    priority: int | None = None
    thread_id: str | None = None
    context_id: str | None = None
    tags: list[str] = []


class CancelRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Why a run is to be stopped."""

    reason: str | None = None


class RerunRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The key of the new run, if any."""

    idempotency_key: str | None = None


def start_request(call: Call, body: RunRequest) -> StartRequest:
    """What the services are asked for.

    Raises:
        InvalidInputError: the resource is not named once, or its kind and the input do not fit.
    """
    kind, given = _kind(body), body.input
    header = call.header("idempotency-key")
    of_tool = given if isinstance(given, ToolInput) else ToolInput()
    return StartRequest(
        tool=_name(body, kind, call),
        kind=kind,
        channel=body.release_channel,
        revision_id=body.resource_revision_id,
        arguments=of_tool.arguments,
        arguments_pointer="/input/arguments",
        caller_context=of_tool.caller_context,
        body=None if isinstance(given, ToolInput) else plain(given),
        idempotency_key=one_key(None if header is None else unquote(header), body.idempotency_key),
        depends_on=tuple(body.depends_on),
        follow_up_of=body.follow_up_of,
        run_on=body.run_on,
        timeout_s=body.timeout_seconds,
        total_timeout_s=body.total_timeout_seconds,
        not_before=body.not_before,
        priority=body.priority,
        thread_id=body.thread_id,
        context_id=body.context_id,
        tags=tuple(body.tags),
        traceparent=call.header("traceparent"),
        source="runs",
    )


def _kind(body: RunRequest) -> str:
    mode = MODES[type(body.input)]
    kind = body.resource_type or ("tool" if body.tool is not None else mode)
    if kind != mode:
        raise InvalidInputError(Flaw("/input/mode", f"a run of type {kind} takes an input of mode {kind}"))
    if body.tool is not None and kind != "tool":
        raise InvalidInputError(Flaw("/tool", "names a tool; name other resources in `resourceId`"))
    if body.resource_revision_id is not None and body.release_channel is not None:
        raise InvalidInputError(Flaw("/releaseChannel", "name the channel or the revision, not both"))
    return kind


def _name(body: RunRequest, kind: str, call: Call) -> str:
    named = [each for each in (body.tool, body.resource_id) if each is not None]
    if body.resource_revision_id is not None and not named:
        return ""
    if len(named) != 1:
        raise InvalidInputError(Flaw("/resourceId", "name the resource once, in `resourceId`, or a tool in `tool`"))
    return named[0].removeprefix(f"{kind}:{call.project.project_id}:")
