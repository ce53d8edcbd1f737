"""The server's side of the worker protocol, small enough to be scripted: it keeps runs in memory and breaks on demand.

It is a real HTTP server on the loopback, so that lost answers, refused connections and slow answers are what a worker
sees in life. Its rules about fences, sessions and slots are strict: what a worker must not do fails the test.
"""

import asyncio
import base64
import contextlib
import datetime
import json
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

Fault = str | int
"""`none`, `lose the answer`, `lose the request`, `hang`, or the status to answer with."""
Body = dict[str, Any]
WITHIN_S = 10.0


@dataclass
class Run:
    """One run as the server sees it."""

    body: Body
    fence: int
    session: str
    status: str = "submitted"
    is_canceling: bool = False
    settle: Body | None = None
    events: list[Body] = field(default_factory=list)
    seqs: set[int] = field(default_factory=set)

    @property
    def output(self) -> bytes:
        """All chunks in order of their offsets."""
        chunks = [event for event in self.events if event["type"] == "output.chunk"]
        return b"".join(base64.b64decode(chunk["data"]) for chunk in sorted(chunks, key=lambda chunk: chunk["offset"]))


class ScriptedServer:
    """Answers workers; `faults[verb]` are used up one after the other, the first request first."""

    def __init__(self, *, lease_ms: int = 15_000, heartbeat_ms: int = 5_000) -> None:
        """Not listening yet."""
        self.lease_ms, self.heartbeat_ms = lease_ms, heartbeat_ms
        self.faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self.queue: deque[Body] = deque()
        self.runs: dict[str, Run] = {}
        self.sessions: dict[str, Body] = {}
        self.expired: set[str] = set()
        self.calls: list[tuple[str, Body]] = []
        self.refuse_start: dict[str, str] = {}
        self.detached: list[str] = []
        self.gave_back: list[str] = []
        self.hanging = asyncio.Event()
        self.url = ""
        self._changed = asyncio.Condition()
        self._fence = 0
        self._server: asyncio.Server | None = None
        self._port = 0
        self._last_batch: dict[str, tuple[int, Body]] = {}
        self._polls: defaultdict[str, int] = defaultdict(int)
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    # -- what a test says ------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen; after a stop on the same port as before."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port, limit=1 << 26)
        self._port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        """Refuse connections and break those that are open; the runs stay."""
        if self._server is not None:
            self._server.close()
            for writer in self._writers:
                writer.transport.abort()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._writers.clear()
            self._server = None

    async def add(self, run_id: str, *, runtime: str = "scripted", **members: Any) -> None:
        """Queue a run."""
        self.queue.append({"runId": run_id, "attemptId": f"{run_id}.1", "tool": "t", "runtime": runtime, **members})
        await self.wake()

    async def cancel(self, run_id: str) -> None:
        """Ask for the stop of a run that was claimed."""
        self.runs[run_id].is_canceling = True
        await self.wake()

    async def expire(self) -> None:
        """End all sessions that there are, and what they hold."""
        self.expired |= set(self.sessions)
        for run in self.runs.values():
            if run.settle is None:
                run.status = "lost"
        await self.wake()

    async def wake(self) -> None:
        """Something changed."""
        async with self._changed:
            self._changed.notify_all()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds."""
        async with asyncio.timeout(WITHIN_S):
            while not condition():
                await asyncio.sleep(0.002)

    async def settled(self, run_id: str) -> Body:
        """Wait for the settle of a run."""
        await self.until(lambda: run_id in self.runs and self.runs[run_id].settle is not None)
        settle = self.runs[run_id].settle
        assert settle is not None
        return settle

    def bodies(self, verb: str) -> list[Body]:
        """What came in for one verb, in order."""
        return [body for name, body in self.calls if name == verb]

    def last(self, verb: str) -> Body:
        """The newest of them; empty before the first."""
        return next((body for name, body in reversed(self.calls) if name == verb), {})

    # -- HTTP ------------------------------------------------------------------------------------------------------

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._writers.add(writer)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer_one(reader, writer):
                continue
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        path = head[0].split(" ")[1]
        verb = path.rpartition("/")[2]
        fault = self.faults[verb].popleft() if self.faults[verb] else None
        self.calls.append((verb, body))
        await self.wake()
        if fault == "lose the request":
            return False
        if fault == "hang":
            await self.hanging.wait()
        if isinstance(fault, int):
            status, answer = fault, {"code": "session_expired" if fault == 410 else "scripted"}
        elif headers.get("authorization") != "Bearer secret":
            status, answer = 401, {"code": "unauthenticated"}
        else:
            status, answer = await self._act(verb, path.split("/")[3], body)
        await self.wake()
        if fault == "lose the answer":
            return False
        payload = json.dumps(answer).encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(payload)}\r\n\r\n".encode() + payload)
        await writer.drain()
        return True

    # -- the protocol ----------------------------------------------------------------------------------------------

    async def _act(self, verb: str, session: str, body: Body) -> tuple[int, Body]:
        if verb == "attach":
            return 200, self._attach(body)
        if session in self.expired or session not in self.sessions:
            return 410, {"code": "session_expired"}
        match verb:
            case "claim":
                return 200, await self._claim(session, body)
            case "report":
                return 200, self._report(session, body)
            case "heartbeat":
                return 200, self._heartbeat(session, body)
            case _:
                self.detached.append(session)
                return 200, {}

    def _attach(self, body: Body) -> Body:
        session = f"s{len(self.sessions)}"
        self.sessions[session] = body
        return {
            "sessionId": session,
            "runtimeConnectionId": "c0",
            "epoch": len(self.sessions) - 1,
            "heartbeatIntervalMs": self.heartbeat_ms,
            "leaseMs": self.lease_ms,
            "leaseExpiresAt": self._lease_end(),
            "protocolVersion": 1,
        }

    def _lease_end(self) -> str:
        end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(milliseconds=self.lease_ms)
        return end.isoformat().replace("+00:00", "Z")

    async def _claim(self, session: str, body: Body) -> Body:
        claims: list[Body] = []
        cancels: list[Body] = []
        number = self._polls[session] = self._polls[session] + 1
        await self.wake()

        def is_something() -> bool:
            if number != self._polls[session]:
                return True
            cancels.extend(self._cancels(session))
            if session not in self.expired:
                claims.extend(self._claims(session, body["slots"]))
            return bool(claims or cancels or session in self.expired)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(body["waitMs"] / 1000), self._changed:
                await self._changed.wait_for(is_something)
        return {"claims": claims, "cancels": cancels, "leaseExpiresAt": self._lease_end()}

    def _claims(self, session: str, slots: int) -> list[Body]:
        claims: list[Body] = []
        while self.queue and len(claims) < slots:
            self._fence += 1
            body = {**self.queue.popleft(), "fence": self._fence}
            self.runs[body["runId"]] = Run(body=body, fence=self._fence, session=session)
            claims.append(body)
        if slots:
            held = sum(run.session == session and run.status in {"submitted", "running"} for run in self.runs.values())
            assert held <= self.sessions[session]["slots"], "the worker offered more slots than it has"
        return claims

    def _cancels(self, session: str) -> list[Body]:
        due = [run for run in self.runs.values() if run.session == session and run.is_canceling and run.settle is None]
        fresh = [run for run in due if not run.body.get("cancelTold")]
        for run in fresh:
            run.body["cancelTold"] = True
        return [{"runId": run.body["runId"], "fence": run.fence, "graceMs": 1000} for run in fresh]

    def _heartbeat(self, session: str, body: Body) -> Body:
        for run in self.runs.values():
            run.body.pop("cancelTold", None)
        keys = [(held["runId"], held["fence"]) for held in body["held"]]
        lost = [key for key in keys if key[0] not in self.runs or self.runs[key[0]].status in {"lost", "settled"}]
        told = [{"runId": run_id, "fence": fence} for run_id, fence in lost]
        return {"leaseExpiresAt": self._lease_end(), "cancels": self._cancels(session), "lost": told}

    def _report(self, session: str, body: Body) -> Body:
        number, answer = self._last_batch.get(session, (0, {}))
        if number == body["batch"]:
            return answer
        results = [self._take(session, report) for report in body["reports"]]
        claims = self._claims(session, body["slots"])
        answer = {"results": results, "claims": claims, "cancels": self._cancels(session)}
        self._last_batch[session] = body["batch"], answer
        return answer

    def _take(self, session: str, report: Body) -> Body:
        run = self.runs.get(report["runId"])
        if run is None or run.fence != report["fence"] or run.session != session or run.status == "lost":
            return {"ok": False, "code": "stale_fence"}
        match report["kind"]:
            case "start":
                return self._take_start(run)
            case "events":
                assert run.status == "running", "an event outside of the attempt"
                assert report["seq"] not in run.seqs, "an event came twice"
                run.seqs.add(report["seq"])
                run.events += report["events"]
                return {"ok": True}
            case "child":
                return {"ok": True, "childRunId": f"child-of-{report['runId']}"}
            case _:
                return self._take_settle(run, report)

    def _take_start(self, run: Run) -> Body:
        if run.is_canceling:
            return {"ok": False, "code": "cancel_requested"}
        if (code := self.refuse_start.get(run.body["runId"])) is not None:
            return {"ok": False, "code": code}
        assert run.status == "submitted", "started twice"
        run.status = "running"
        return {"ok": True}

    def _take_settle(self, run: Run, report: Body) -> Body:
        assert run.settle is None, "settled twice"
        run.settle, run.status = report, "settled"
        if report["outcome"] == "released":
            self.gave_back.append(report["runId"])
        return {"ok": True}


@contextlib.asynccontextmanager
async def scripted_server(**settings: int) -> AsyncIterator[ScriptedServer]:
    """A server that listens until the end of the block."""
    server = ScriptedServer(**settings)
    await server.start()
    try:
        yield server
    finally:
        server.hanging.set()
        await server.stop()
