"""The three shapes of a run's input, told apart by `mode`. An unknown member is refused with its JSON pointer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec


class ToolInput(msgspec.Struct, tag="tool", tag_field="mode", rename="camel", forbid_unknown_fields=True):
    """Arguments of a tool."""

    arguments: dict[str, Any] = {}
    caller_context: dict[str, Any] | None = None


class Message(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str | list[dict[str, Any]]


class CallableRef(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Something that an agent may call beside what its definition lists, and the name it calls it by."""

    resource_type: Literal["tool", "agent", "mcp_server"]
    resource_id: str
    alias: str | None = None
    release_channel: str | None = None


class EphemeralTool(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """A tool that lives as long as the run: whoever started the run answers its calls."""

    name: str
    description: str
    parameters_schema: dict[str, Any] | None = None


class AgentInput(
    msgspec.Struct, tag="agent", tag_field="mode", rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """A conversation, and what the agent may call in it."""

    messages: list[Message]
    callable_aliases: list[str] = []
    additional_callable_refs: list[CallableRef] = []
    ephemeral_tools: list[EphemeralTool] = []


class McpServerInput(
    msgspec.Struct, tag="mcp_server", tag_field="mode", rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The client's side of a hosted MCP session."""

    client_info: dict[str, Any]
    client_capabilities: dict[str, Any] = {}
    session_context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


Input: TypeAlias = ToolInput | AgentInput | McpServerInput
MODES: Mapping[type, str] = {ToolInput: "tool", AgentInput: "agent", McpServerInput: "mcp_server"}


def plain(given: AgentInput | McpServerInput) -> dict[str, Any]:
    """The input as it is frozen on the run."""
    body: dict[str, Any] = msgspec.to_builtins(given)
    return body
