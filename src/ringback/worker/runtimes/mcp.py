"""The MCP runtime: calls of other people's MCP servers, each an attempt of a run, and whole sessions with them.

The server is started (or reached) with the first call and kept warm for the next ones; see `hosting.pool`. What it is
told about secrets and what people are asked in its name is decided by its definition.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from typing import Final

from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop
from ringback.worker.environment import MissingSecretError
from ringback.worker.hosting.definition import read_definition
from ringback.worker.hosting.errors import HostError
from ringback.worker.hosting.pool import Pool
from ringback.worker.processes.child import GuardianLostError
from ringback.worker.processes.guardian import Guardian
from ringback.worker.runtimes.mcp_call import McpCall
from ringback.worker.runtimes.mcp_session import McpSession


class McpRuntime:
    """The runtime for what MCP servers offer."""

    name: Final = "mcp"

    def __init__(
        self,
        guardian: Guardian,
        *,
        environment: Mapping[str, str] | None = None,
        secret_values: Iterable[str] = (),
    ) -> None:
        """Start servers through `guardian`, which stays the caller's.

        Args:
            environment: the worker's variables, from which servers get what is allowed; None is this process's.
            secret_values: what is masked in everything that servers say, beside their own secrets (the worker's token).
        """
        self._environment = dict(os.environ if environment is None else environment)
        self._secret_values = tuple(secret_values)
        self._guardian = guardian
        self._pool = Pool(guardian)

    async def run(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        """Carry out one call; when this returns nothing of it goes on, but the server may stay for the next one."""
        try:
            definition = read_definition(assignment.profile, self._environment, self._secret_values)
            if assignment.resource_type == "mcp_server":
                return await McpSession(definition, self._guardian, assignment, reporter, stop).carry_out()
            session = await self._pool.take(definition, stop)
        except (MissingSecretError, HostError) as error:
            return Outcome(kind="failed", error_kind="tool_error", error_message=str(error))
        except GuardianLostError as error:
            return Outcome(kind="failed", error_kind="internal", error_message=str(error))
        if session is None:
            return Outcome(kind="released" if stop.why is None else "stopped", forced=False)
        call = McpCall(session, assignment, reporter, stop)
        try:
            return await call.carry_out()
        finally:
            await asyncio.shield(
                self._pool.give_back(
                    session, is_fit=call.is_fit, has_failed=call.has_failed, grace_s=0 if stop.why == "lost" else 1.0
                )
            )

    async def aclose(self) -> None:
        """End the servers that are kept warm."""
        await self._pool.aclose()
