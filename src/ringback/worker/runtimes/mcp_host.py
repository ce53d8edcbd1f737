"""What a hosted server tells and asks while an attempt uses it: its talk is output, its questions are questions of the run."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ringback.worker.assignment import Assignment, Reporter
from ringback.worker.capture import CAP_BYTES
from ringback.worker.hosting import questions
from ringback.worker.hosting.definition import ServerDefinition
from ringback.worker.hosting.errors import AnswerError
from ringback.worker.hosting.output import SessionOutput
from ringback.worker.hosting.peer import NO_LONGER_WANTED
from ringback.worker.hosting.session import Session
from ringback.worker.reporting import ChildRefusedError

METHOD_NOT_FOUND: Final = -32601


class McpHost:
    """The parts of a `Host` that a call and a session have in common."""

    def __init__(self, definition: ServerDefinition, assignment: Assignment, reporter: Reporter) -> None:
        self._definition = definition
        self._assignment = assignment
        self._reporter = reporter
        self._mask = definition.mask
        limits = assignment.profile.get("limits") or {}
        self._output = SessionOutput(reporter, self._mask, cap_bytes=limits.get("outputBytes") or CAP_BYTES)
        self._loop = asyncio.get_running_loop()
        self._asking = asyncio.Lock()
        self._questions = 0
        self._open_questions = 0
        self._answered_at = self._loop.time()

    async def noise(self, data: bytes) -> None:
        """See `Host`: whoever looks at the output sees what does not belong on a server's stdout."""
        await self._output.write("stdout", data + b"\n")

    async def asked(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """See `Host`: people are asked, one question after the other."""
        declared = self._definition.capabilities
        if method == "roots/list" and "roots" in declared:
            return {"roots": [dict(root) for root in self._definition.roots]}
        if method.partition("/")[0] not in declared:
            raise AnswerError(METHOD_NOT_FOUND, f"{method}: this client did not declare it")
        async with self._asking:
            self._questions += 1
            question = questions.question_of(self._questions, method, self._mask.value(dict(params)))
            self._open_questions += 1
            try:
                status, answer = await self._reporter.ask(question)
            except asyncio.CancelledError as cancelled:
                if cancelled.args == (NO_LONGER_WANTED,):
                    with contextlib.suppress(ChildRefusedError):
                        await self._reporter.withdraw(question["key"])
                raise
            except ChildRefusedError as error:
                raise AnswerError(questions.USER_REJECTED, f"the question could not be asked: {error}") from None
            finally:
                self._open_questions -= 1
                self._answered_at = self._loop.time()  # while people think, the work is not idle
        return questions.result_of(method, params, status, answer)

    async def _use(self, session: Session) -> None:
        """From now on the session is this attempt's; what a new server has said so far is, too."""
        process = session.process
        if process is not None:
            if session.is_new and process.last_words:
                await self._output.write("stderr", bytes(process.last_words))
            process.on_talk = self._talk
        session.is_new = False

    async def _talk(self, data: bytes) -> None:
        await self._output.write("stderr", data)

    async def _log(self, params: Mapping[str, Any]) -> None:
        """A log message of the server."""
        data = params.get("data")
        text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
        await self._output.write("stderr", f"[{params.get('level', 'info')}] {text}\n".encode("utf-8", "replace"))
