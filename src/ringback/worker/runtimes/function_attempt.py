"""One attempt of a function tool: from the frame that starts it to the outcome, with nothing left behind.

The loop in `_follow` passes on what the interpreter reports. Two companions start only when they are needed, so that an
attempt of a few microseconds pays for neither: the capture, when something was printed, and the vigil, after a few
milliseconds, which turns a stop into a cancellation and the end of the grace into a kill. The limits for the attempt and
the deadline arrive as stops; the idle limit is watched here, because only here life is seen.
"""

import asyncio
import contextlib
import datetime
from collections.abc import Coroutine, Mapping
from typing import Any, Final

import msgspec

from ringback.worker import wire
from ringback.worker.assignment import Assignment, ErrorKind, Outcome, Reporter, Stop
from ringback.worker.capture import CAP_BYTES, CHUNK_BYTES, Capture
from ringback.worker.environment import secret_of
from ringback.worker.jsonable import preview
from ringback.worker.masking import Mask
from ringback.worker.reporting import ChildRefusedError
from ringback.worker.runtimes.interpreter import Interpreter, signal_name

VIGIL_AFTER_S: Final = 0.005
LOST_SEEN_WITHIN_S: Final = 0.1

_ENDINGS: Final = (wire.Done, wire.Failed)
_Ending = wire.Done | wire.Failed
_ERROR_KINDS: Final[dict[str, ErrorKind]] = {"invalid_params": "invalid_params", "expired": "expired"}


class FunctionAttempt:
    """Carries out one assignment in one interpreter."""

    def __init__(
        self,
        interpreter: Interpreter,
        assignment: Assignment,
        reporter: Reporter,
        stop: Stop,
        mask: Mask,
        secrets: Mapping[str, str],
    ) -> None:
        """`secrets` are those of the tool's secrets that the worker has."""
        self._interpreter = interpreter
        self._assignment = assignment
        self._reporter = reporter
        self._stop = stop
        self._mask = mask
        self._secrets = secrets
        self._loop = asyncio.get_running_loop()
        self._capture: Capture | None = None
        self._vigil: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[None]] = set()
        self._began_at = self._loop.time()
        self._is_killed = False
        self._questions = 0
        self.retire = ""
        """Why the interpreter can't be used again."""

    async def carry_out(self) -> Outcome:
        """Run it; when this returns no process but the warm interpreter is left of it."""
        interpreter = self._interpreter
        interpreter.begin_output(self._begin_capture)
        if interpreter.imported:
            await self._pass_on_imported()
        timer = self._loop.call_later(VIGIL_AFTER_S, self._begin_vigil)
        is_over = False
        try:
            await interpreter.send(_run(self._assignment))
            ending = await self._follow()
            await self._tidy(ending)
            is_over = True
        finally:
            timer.cancel()
            await self._dismiss(is_over=is_over)
        return await self._outcome(ending)

    # --- while it runs ---

    async def _follow(self) -> _Ending | None:
        """Pass everything on until the end; None when the interpreter died before it could say how that was."""
        interpreter = self._interpreter
        while True:
            await interpreter.wait()
            reports = interpreter.take_reports()
            if reports and isinstance(reports[-1], _ENDINGS):
                ending: _Ending = reports.pop()
                await self._pass_on(reports)
                return ending
            await self._pass_on(reports)
            if not reports and interpreter.is_dead:
                return None

    async def _pass_on(self, reports: list[Any]) -> None:
        items: list[Any] = []
        for report in reports:
            if items and not isinstance(report, wire.Page):
                await self._reporter.page(self._mask.value(items))
                items = []
            match report:
                case wire.Page():
                    items += msgspec.json.decode(report.items)
                case wire.Progress():
                    message = report.message and self._mask.text(report.message)
                    await self._reporter.progress(report.done, report.total, message)
                case wire.Checkpoint():
                    await self._reporter.checkpoint(msgspec.json.decode(report.value))
                case wire.Start():
                    self._accompany(self._start_child(report))
                case wire.Ask():
                    self._accompany(self._ask(report))
                case wire.Use():
                    self._accompany(self._use(report))
                case wire.Withdraw():
                    self._accompany(self._withdraw(report))
                case _:
                    raise wire.FrameError(f"{type(report).__name__} doesn't belong here")
        if items:
            await self._reporter.page(self._mask.value(items))

    def _accompany(self, request: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(request)
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)

    async def _start_child(self, request: wire.Start) -> None:
        try:
            run_id = await self._reporter.child(request.tool, msgspec.json.decode(request.arguments))
            answer = wire.Answer(request.request_no, run_id=run_id)
        except ChildRefusedError as error:
            answer = wire.Answer(request.request_no, refusal=str(error))
        await self._interpreter.send(answer)

    async def _ask(self, request: wire.Ask) -> None:
        question = self._mask.value(msgspec.json.decode(request.question))
        self._questions += 1
        try:
            status, response = await self._reporter.ask(question, parks=request.parks)
            reply = wire.Reply(request.request_no, status, msgspec.Raw(msgspec.json.encode(response)))
        except ChildRefusedError as error:
            reply = wire.Reply(request.request_no, refusal=str(error))
        finally:
            self._questions -= 1
            self._began_at = self._loop.time()  # while people think, the work is not idle
        await self._interpreter.send(reply)

    async def _use(self, request: wire.Use) -> None:
        members = msgspec.json.decode(request.members)
        try:
            answer = await self._used(request.capability, members)
            used = wire.Used(request.request_no, msgspec.Raw(msgspec.json.encode(answer)))
        except ChildRefusedError as error:
            used = wire.Used(request.request_no, refusal=str(error))
        await self._interpreter.send(used)

    async def _used(self, capability: str, members: dict[str, Any]) -> Any:
        """What the worker has itself, or else the server."""
        match capability:
            case "config.read":
                profile = {name: value for name, value in self._assignment.profile.items() if name != "source"}
                return {"profile": profile, "policy": self._assignment.policy}
            case "secrets.read":
                return secret_of(self._assignment, self._secrets, members["name"])
            case _:
                return await self._reporter.use(capability, self._mask.value(members))

    async def _withdraw(self, request: wire.Withdraw) -> None:
        try:
            status = await self._reporter.withdraw(self._mask.text(request.key)) or ""
            reply = wire.Reply(request.request_no, status)
        except ChildRefusedError as error:
            reply = wire.Reply(request.request_no, refusal=str(error))
        await self._interpreter.send(reply)

    def _begin_capture(self) -> None:
        """Something was printed."""
        if self._capture is not None:
            return
        self._interpreter.leave_pipes()
        child = self._interpreter.child
        limits = self._assignment.profile.get("limits", {})
        self._capture = Capture(self._reporter, self._mask, cap_bytes=limits.get("outputBytes", CAP_BYTES))
        self._capture.start(child.stdout, child.stderr)

    async def _pass_on_imported(self) -> None:
        while self._interpreter.imported:
            stream, data = self._interpreter.imported.popleft()
            shown = self._mask.data(data)
            for start in range(0, len(shown), CHUNK_BYTES):
                await self._reporter.output(stream, shown[start : start + CHUNK_BYTES])

    # --- stopping ---

    def _begin_vigil(self) -> None:
        self._vigil = self._loop.create_task(self._watch())

    async def _watch(self) -> None:
        """Wait for a stop, pass it on, and end by force what doesn't obey."""
        await self._until_stopped()
        stop = self._stop
        if stop.why != "lost":
            await self._interpreter.send(wire.Cancel(self._assignment.attempt_id, str(stop.why)))
            if stop.why == "cancel":
                await self._reporter.cancel_delivered()
            await self._grant_grace()
        self._is_killed = True
        await self._interpreter.kill()

    async def _until_stopped(self) -> None:
        idle_ms = self._assignment.idle_timeout_ms
        if idle_ms is None:
            await self._stop.requested.wait()
            return
        while not self._stop.requested.is_set():
            idle_at = (self._loop.time() if self._questions else self._last_alive_at()) + idle_ms / 1000
            if idle_at <= self._loop.time():
                self._stop.request("timeout:idle")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(idle_at):
                    await self._stop.requested.wait()

    def _last_alive_at(self) -> float:
        spoken = self._began_at if self._capture is None else self._capture.last_active_at
        return self._stop.alive_at(max(self._began_at, self._interpreter.heard_at, spoken))

    async def _grant_grace(self) -> None:
        stop = self._stop
        grace_ms = self._assignment.grace_ms if stop.grace_ms is None else stop.grace_ms
        until = self._loop.time() + grace_ms / 1000
        while stop.why != "lost" and (left := until - self._loop.time()) > 0:  # noqa: ASYNC110 - a loss sets no event
            await asyncio.sleep(min(left, LOST_SEEN_WITHIN_S))

    # --- the end ---

    async def _tidy(self, ending: _Ending | None) -> None:
        """End what was left running, then take the rest of the output."""
        interpreter = self._interpreter
        if ending is None:
            await interpreter.kill()
            self.retire = interpreter.epitaph()
        elif ending.retire:
            self.retire = ending.retire
            await interpreter.kill()
        elif ending.forked:
            await interpreter.prune()
        if self._capture is None and interpreter.has_output():
            self._begin_capture()
        if self._capture is not None:
            self._capture.finish_by(self._loop.time())
            await self._capture.ended()

    async def _dismiss(self, *, is_over: bool) -> None:
        """Send the companions away; without an end, whatever the reason, nothing of the attempt may live on."""
        for task in (*self._requests, *filter(None, [self._vigil])):
            task.cancel()
        self._interpreter.end_output()
        if not is_over:
            self.retire = "its attempt was abandoned"
            await asyncio.shield(self._interpreter.kill())
            if self._capture is not None:
                await self._capture.abandon()
        if self._capture is not None:
            self._interpreter.watch_pipes()

    async def _outcome(self, ending: _Ending | None) -> Outcome:
        stop = self._stop
        if stop.limit is not None:
            return Outcome(kind="timed_out", limit=stop.limit, forced=self._is_killed)
        if self._is_killed:
            return Outcome(kind="released" if stop.why == "drain" else "stopped", forced=True)
        match ending:
            case None:
                return self._died()
            case wire.Done():
                result = self._mask.value(msgspec.json.decode(ending.result))
                summary = self._mask.text(ending.summary) if ending.summary else preview(result)
                return Outcome(kind="succeeded", result=result, summary=summary)
            case wire.Failed(kind="released") if stop.why != "cancel":
                return Outcome(kind="released", parked=True)
            case wire.Failed(cancelled=True) if stop.why == "drain":
                return Outcome(kind="released")
            case wire.Failed(cancelled=True) | wire.Failed(kind="released"):
                if stop.why == "cancel":
                    await self._reporter.cancel_acknowledged()
                return Outcome(kind="stopped", forced=False)
            case wire.Failed():
                return Outcome(
                    kind="failed",
                    error_kind=_ERROR_KINDS.get(ending.kind, "tool_error"),
                    error_message=self._mask.text(ending.message),
                    error_detail=self._mask.value(msgspec.json.decode(ending.detail)),
                    retryable=ending.retryable,
                )

    def _died(self) -> Outcome:
        code = self._interpreter.child.returncode
        has_signal = code is not None and code < 0
        return Outcome(
            kind="failed",
            error_kind="internal" if code is None else "tool_error",
            error_message=self._interpreter.epitaph(),
            exit_code=None if has_signal else code,
            signal=signal_name(-code) if code is not None and code < 0 else None,
        )


def _run(assignment: Assignment) -> wire.Run:
    return wire.Run(
        assignment.attempt_id,
        assignment.run_id,
        assignment.job_id,
        assignment.attempt_no,
        assignment.tool,
        msgspec.Raw(msgspec.json.encode(assignment.arguments)),
        wire.NULL if assignment.checkpoint is None else msgspec.Raw(msgspec.json.encode(assignment.checkpoint)),
        _deadline_ms(assignment),
    )


def _deadline_ms(assignment: Assignment) -> int | None:
    limits: list[float] = []
    if assignment.timeout_ms is not None:
        limits.append(datetime.datetime.now(datetime.UTC).timestamp() * 1000 + assignment.timeout_ms)
    if assignment.deadline_at is not None:
        limits.append(datetime.datetime.fromisoformat(assignment.deadline_at).timestamp() * 1000)
    return int(min(limits)) if limits else None
