"""What starts a run: a body that names a resource and holds its input, told apart by `mode`.

Agents and MCP servers have inputs of their own. They are read here, so that a mistake in them is named like any other, and
refused as not available yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ringback.api.call import Call
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.idempotency import one_key, unquote
from ringback.services.start_request import StartRequest
from ringback.services.tools import Tool


class ToolInput(msgspec.Struct, tag="tool", tag_field="mode", rename="camel", forbid_unknown_fields=True):
    """Arguments of a tool."""

    arguments: dict[str, Any] = {}
    caller_context: dict[str, Any] | None = None


class AgentInput(msgspec.Struct, tag="agent", tag_field="mode", rename="camel", forbid_unknown_fields=True):
    """A conversation. Not available in this release."""

    messages: list[dict[str, Any]]
    callable_aliases: list[str] = []
    additional_callable_refs: list[Any] = []
    ephemeral_tools: list[dict[str, Any]] = []


class McpServerInput(msgspec.Struct, tag="mcp_server", tag_field="mode", rename="camel", forbid_unknown_fields=True):
    """A hosted MCP session. Not available in this release."""

    client_info: dict[str, Any]
    client_capabilities: dict[str, Any] = {}
    session_context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


Input: TypeAlias = ToolInput | AgentInput | McpServerInput


class RunRequest(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A run to start. `tool` is short for `resourceType` "tool" with its name or id in `resourceId`."""

    input: Input = msgspec.field(default_factory=ToolInput)
    resource_type: Literal["tool", "agent", "mcp_server"] = "tool"
    resource_id: str | None = None
    tool: str | None = None
    idempotency_key: str | None = None
    depends_on: list[str] = []
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


def start_request(call: Call, body: RunRequest, released: Mapping[str, Tool]) -> StartRequest:
    """What the services are asked for.

    Raises:
        InvalidInputError: the resource is not named once, or of a kind that is not available.
    """
    if not isinstance(body.input, ToolInput) or body.resource_type != "tool":
        pointer = "/resourceType" if isinstance(body.input, ToolInput) else "/input/mode"
        raise InvalidInputError(Flaw(pointer, "not available in this release: only tools can be run"))
    header = call.header("idempotency-key")
    return StartRequest(
        tool=_tool_named(body, released),
        arguments=body.input.arguments,
        arguments_pointer="/input/arguments",
        caller_context=body.input.caller_context,
        idempotency_key=one_key(None if header is None else unquote(header), body.idempotency_key),
        depends_on=tuple(body.depends_on),
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


def _tool_named(body: RunRequest, released: Mapping[str, Tool]) -> str:
    if (body.tool is None) == (body.resource_id is None):
        raise InvalidInputError(Flaw("/resourceId", "name the tool once, in `resourceId` or in `tool`"))
    if body.tool is not None:
        return body.tool
    wanted = body.resource_id or ""
    by_id = next((name for name, tool in released.items() if tool.resource_id == wanted), None)
    return wanted if by_id is None else by_id
