"""Events as they stand in the ledger: one append-only, gap-free sequence per run, starting at 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.ids import ProjectId, RunId
from ringback.domain.moments import Moment

EVENT_TYPES = frozenset(
    {
        "run.status.changed",
        "attempt.started",
        "attempt.ended",
        "message.delta",
        "message.completed",
        "reasoning.delta",
        "reasoning.completed",
        "tool_call.delta",
        "tool_call.completed",
        "tool_result",
        "artifact.updated",
        "interaction.requested",
        "interaction.updated",
        "interaction.responded",
        "state.updated",
        "output.chunk",
        "output.dropped",
        "cancel.requested",
        "cancel.delivered",
        "cancel.acknowledged",
        "link.created",
        "mcp.opened",
        "mcp.request",
        "mcp.response",
        "mcp.notification",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """One event with its place. `position` orders the events of all runs as they were committed."""

    run_id: RunId
    project_id: ProjectId
    sequence: int
    position: int
    type: str
    created_at: Moment
    body: Mapping[str, Any]
    data: bytes | None = None

    @property
    def event_id(self) -> str:
        return event_id_of(self.run_id, self.sequence)


def event_id_of(run_id: RunId, sequence: int) -> str:
    """Derived from run and sequence, so that a reader recognises a duplicate."""
    return f"{run_id}:{sequence}"
