"""Runs a stored script as an attempt: an interpreter of its own, a folder of its own, and nothing left of either.

The source comes with the assignment, frozen when the run was created. A script gets the environment of a command, limits of its
process before its first line, and the context of a function.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from ringback.worker.assignment import Assignment, Outcome, Reporter, Stop
from ringback.worker.environment import MissingSecretError, environment_of, secrets_of
from ringback.worker.masking import Mask
from ringback.worker.processes.child import GuardianLostError, SpawnError
from ringback.worker.processes.guardian import Guardian
from ringback.worker.runtimes.function_attempt import FunctionAttempt
from ringback.worker.runtimes.interpreter import Interpreter, LoadError

READY_WITHIN_S: Final = 60.0


class ScriptRuntime:
    """The runtime of scripts.

    Args:
        guardian: starts the interpreters and ends them with the worker.
        environment: the worker's variables, from which scripts get what is allowed; None is this process's.
        secret_values: what is masked in every script's output beside its own secrets (the worker's token).
        url: where programs that it starts find the server.
    """

    name: Final = "script"

    def __init__(
        self,
        guardian: Guardian,
        *,
        environment: Mapping[str, str] | None = None,
        secret_values: Iterable[str] = (),
        url: str = "",
    ) -> None:
        self._guardian = guardian
        self._environment = dict(os.environ if environment is None else environment)
        self._secret_values = tuple(secret_values)
        self._url = url

    async def run(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        """Carry out one attempt; when this returns no process and no file of it is left."""
        try:
            secrets = secrets_of(assignment, self._environment)
        except MissingSecretError as error:
            return Outcome(kind="failed", error_kind="tool_error", error_message=str(error))
        mask = Mask([*self._secret_values, assignment.run_token, *secrets.values()])
        environment = environment_of(assignment, self._environment, secrets, url=self._url)
        folder = await asyncio.to_thread(
            tempfile.TemporaryDirectory, prefix="ringback-script-", ignore_cleanup_errors=True
        )
        try:
            file = Path(folder.name, f"{assignment.tool}.py")
            await asyncio.to_thread(file.write_text, str(assignment.profile["source"]), encoding="utf-8")
            interpreter = await self._interpreter(assignment, file, environment)
            try:
                return await FunctionAttempt(interpreter, assignment, reporter, stop, mask, secrets).carry_out()
            finally:
                await asyncio.shield(interpreter.aclose())
        except LoadError as error:
            return Outcome(kind="failed", error_kind="tool_error", error_message=mask.text(str(error)))
        except (SpawnError, GuardianLostError) as error:
            return Outcome(kind="failed", error_kind="internal", error_message=str(error))
        finally:
            await asyncio.shield(asyncio.to_thread(folder.cleanup))

    async def _interpreter(self, assignment: Assignment, file: Path, environment: Mapping[str, str]) -> Interpreter:
        return await Interpreter.start(
            self._guardian,
            [sys.executable, "-m", "ringback.worker.script", str(file)],
            env=environment,
            cwd=str(file.parent),
            within_s=READY_WITHIN_S,
            limits=assignment.profile.get("limits"),
        )

    async def aclose(self) -> None:
        """Nothing is held between assignments."""
