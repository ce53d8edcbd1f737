"""`ringback worker`: reads the settings, puts the parts together, and ends the process with the right exit code.

0 drained · 1 failed · 2 usage · 6 the server does not allow this worker · 128 + signal when a second signal came.
What happens in between is in `ringback.worker.life`.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, NoReturn

import uvloop

from ringback.settings.errors import SettingsError
from ringback.worker import logs
from ringback.worker.assignment import Runtime
from ringback.worker.batching import Outbox
from ringback.worker.life import Life, Signals, StartupError
from ringback.worker.processes.guardian import Guardian
from ringback.worker.runtimes.agent import AgentRuntime
from ringback.worker.runtimes.command import CommandRuntime
from ringback.worker.runtimes.http import HttpRuntime
from ringback.worker.runtimes.mcp import McpRuntime
from ringback.worker.runtimes.script import ScriptRuntime
from ringback.worker.settings import TOKEN_VARIABLES, WorkerSettings, read_settings
from ringback.worker.spaces.records import Records
from ringback.worker.spaces.runtime import SpacedRuntime, take_down_abandoned
from ringback.worker.spaces.telling import Telling

SERVERS_SECRETS = (
    "RINGBACK_SECRET_"  # a worker that the server started has inherited them, and they are not its to give
)


def main(argv: Sequence[str]) -> NoReturn:
    """`ringback worker ARGV`; ends the process."""
    try:
        settings = read_settings(argv, os.environ)
        for name in [name for name in os.environ if name in TOKEN_VARIABLES or name.startswith(SERVERS_SECRETS)]:
            del os.environ[name]
        sys.exit(run_worker(settings))
    except SettingsError as error:
        print(f"ringback worker: {error}", file=sys.stderr)
        sys.exit(2)
    except StartupError as error:
        print(f"ringback worker: {error}", file=sys.stderr)
        sys.exit(error.code)


def run_worker(settings: WorkerSettings) -> int:
    """Run a worker in this process until it is told to end; returns the exit code.

    Raises:
        StartupError: the application can't be loaded, or the server does not take the worker.
    """
    logs.configure(settings.log_level, settings.log_format)
    with suppress(OSError):
        Path("/proc/self/comm").write_text("ringback-worker")
    return uvloop.run(_run(settings))


async def _run(settings: WorkerSettings) -> int:
    async with AsyncExitStack() as stack:
        guardian = Guardian(worker_mark=settings.mark)
        await guardian.start()
        stack.push_async_callback(guardian.aclose)
        signals, outbox = Signals(), Outbox()
        secret, url = (settings.token,), settings.url
        commands = CommandRuntime(guardian, secret_values=secret, url=url)
        runtimes: list[Runtime] = [await _spaced(commands, settings, outbox, stack)]
        runtimes.append(ScriptRuntime(guardian, secret_values=secret, url=url))
        servers = McpRuntime(guardian, secret_values=secret)
        stack.push_async_callback(servers.aclose)
        runtimes.append(servers)
        http = HttpRuntime(settings.url, secret_values=(settings.token,))
        stack.push_async_callback(http.aclose)
        runtimes.append(http)
        runtimes.append(AgentRuntime(secret_values=secret))
        definitions: list[dict[str, Any]] = []
        if settings.app is not None:
            functions, definitions = await _functions(settings, settings.app, guardian)
            stack.push_async_callback(functions.aclose)
            runtimes.append(functions)
        return await Life(settings, runtimes, definitions, outbox).run(signals)


async def _spaced(inner: Runtime, settings: WorkerSettings, outbox: Outbox, stack: AsyncExitStack) -> Runtime:
    """The runtime with spaces; what dead workers left of theirs is taken down beside the work."""
    records, telling = Records(settings.data_dir), Telling(outbox)
    stack.callback(records.close)
    stack.push_async_callback(telling.aclose)
    found = asyncio.get_running_loop().create_task(take_down_abandoned(records, telling))
    stack.push_async_callback(_ended, found)
    return SpacedRuntime(inner, records, telling)


async def _ended(task: "asyncio.Task[int]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _functions(settings: WorkerSettings, app: str, guardian: Guardian) -> tuple[Runtime, list[dict[str, Any]]]:
    """The runtime of the application's functions, imported only where there is an application, and its tools."""
    from ringback.worker.runtimes.function import FunctionRuntime
    from ringback.worker.runtimes.interpreter import LoadError

    functions = FunctionRuntime(guardian, app, slots=settings.slots)
    try:
        await functions.start()
    except LoadError as error:
        if error.trace:
            print(error.trace, file=sys.stderr)
        await functions.aclose()
        raise StartupError(f"{app}: {error}") from None
    return functions, functions.definitions
