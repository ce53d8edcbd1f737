"""The worker's handle of its guardian: start it, start programs through it, and outlive its death.

A worker owns one `Guardian`; everything that it starts for an attempt or as a warm interpreter is a ward of the guardian
process (`guarding`) and a `Child` here. The promises:

* The worker's death ends the guardian's control socket, and the guardian then kills everything it guards.
* The guardian's death is noticed here: the worker, a subreaper as well, kills what was orphaned, only then lets the
  waiting calls fail with `GuardianLostError`, and starts a new guardian.
* What died together with both is swept at the next start of a worker with the same mark.

Linux only: there is no way to promise this elsewhere, and nothing is approximated.
"""

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ringback.worker.processes import launch, leftovers, wire
from ringback.worker.processes.channels import Feed, close_all, open_channels
from ringback.worker.processes.child import Child, GuardianLostError, SpawnError

START_WITHIN_S: Final = 10.0
END_WITHIN_S: Final = 70.0
WORKER_VARIABLE: Final = leftovers.WORKER_VARIABLE

# The packages above `guarding` are stubbed out, so that the guardian starts without what their __init__ files import.
_BOOTSTRAP: Final = """
import sys
path, name = sys.argv.pop(), ""
for part in ("ringback", "worker", "processes"):
    name, path = (name + "." + part).lstrip("."), path + "/" + part
    sys.modules[name] = type(sys)(name)
    sys.modules[name].__path__ = [path]
from ringback.worker.processes.guarding import main
main()
"""
_SOURCE: Final = str(Path(__file__).resolve().parents[3])


class Guardian:
    """The one guardian process of a worker, and its replacement when it dies."""

    def __init__(self, *, worker_mark: str = "worker") -> None:
        """Nothing is started yet.

        Args:
            worker_mark: what all incarnations of this worker have in common (a digest of its data folder), without dots;
                `start` kills what dead incarnations with the same mark have left behind.
        """
        self._worker_mark = worker_mark
        self._mark = leftovers.incarnation_mark(worker_mark)
        self._children: dict[int, Child] = {}
        self._numbers = 0
        self._tag_base = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._unsent: deque[tuple[wire.Message, list[int]]] = deque()
        self._is_ready = False
        self._settled = asyncio.Event()
        self._recovery: asyncio.Task[None] | None = None
        self._is_closing = False

    @property
    def pid(self) -> int | None:
        """The pid of the guardian process while there is one."""
        return None if self._process is None else self._process.pid

    async def start(self) -> None:
        """Kill the leftovers of dead incarnations, then start the guardian process.

        Raises:
            OSError: this system cannot guard processes.
            GuardianLostError: the guardian ended before it was ready.
        """
        launch.become_subreaper()
        await asyncio.to_thread(leftovers.sweep, self._worker_mark)
        await self._launch()

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        limits: Mapping[str, int] | None = None,
        stdin: bytes | Feed | None = None,
        control: bool = False,
        capture: bool = True,
    ) -> Child:
        """Start a program as the leader of a session of its own; the caller owes it an `aclose`.

        Args:
            argv: the program (looked up in `env["PATH"]` when it has no slash) and its arguments.
            env: the whole environment; RINGBACK_ATTEMPT in it marks the tree.
            cwd: where it starts; None is the root folder.
            limits: memoryBytes, cpuSeconds, openFiles, processes, fileBytes; others are left alone.
            stdin: what the program reads; None is /dev/null, and `FEED` a pipe whose other end is `Child.stdin`.
            control: give the child a stream socket, whose number it finds in RINGBACK_CONTROL_FD.
            capture: give it pipes for stdout and stderr, else /dev/null.

        Raises:
            SpawnError: it could not be started.
            GuardianLostError: the guardian is not there, or died meanwhile; nothing runs.
        """
        await self._settled.wait()
        if not self._is_ready:
            raise GuardianLostError("there is no guardian process")
        self._numbers += 1
        ours, theirs = open_channels(stdin, control=control, capture=capture)
        child = self._children[self._numbers] = Child(self._numbers, ours, self._send)
        message = {"op": "spawn", "id": self._numbers, "argv": list(argv), "cwd": cwd, "streams": list(theirs)}
        message |= {"env": {**env, WORKER_VARIABLE: self._mark}, "limits": dict(limits or {})}
        self._send(message, list(theirs.values()))
        try:
            await child.started()
        except asyncio.CancelledError:
            await asyncio.shield(child.aclose())
            raise
        except (SpawnError, GuardianLostError):
            child.close_pipes()
            raise
        return child

    async def aclose(self) -> None:
        """Kill everything that is guarded and end the guardian."""
        self._is_closing = True
        if self._recovery is not None:
            await self._recovery
        self._disconnect()
        if self._process is not None:
            await asyncio.to_thread(_await_end, self._process, END_WITHIN_S)
            self._process = None
        self._lose_children()

    async def _launch(self) -> None:
        self._settled.clear()
        self._tag_base = int.from_bytes(os.urandom(5), "big") * launch.TAG_SPAN
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        with theirs:
            self._process = await asyncio.to_thread(_start_process, theirs, self._tag_base)
        asyncio.get_running_loop().add_reader(self._control.fileno(), self._on_readable)
        try:
            async with asyncio.timeout(START_WITHIN_S):
                await self._settled.wait()
        except TimeoutError:
            self._disconnect()
        if not self._is_ready:
            await asyncio.to_thread(_await_end, self._process, 0.0)
            raise GuardianLostError("the guardian ended before it was ready")

    def _send(self, message: wire.Message, descriptors: Sequence[int] = ()) -> None:
        """Queue behind what is unsent; takes over the descriptors."""
        if self._control is None:
            close_all(descriptors)
            return
        self._unsent.append((message, list(descriptors)))
        if len(self._unsent) == 1:
            self._flush()

    def _flush(self) -> None:
        if self._control is None:
            return
        loop = asyncio.get_running_loop()
        while self._unsent:
            message, descriptors = self._unsent[0]
            try:
                wire.send(self._control, message, descriptors)
            except BlockingIOError:
                loop.add_writer(self._control.fileno(), self._flush)
                return
            except (BrokenPipeError, ConnectionResetError):
                return  # the reader sees the end, too
            self._unsent.popleft()
            close_all(descriptors)
        loop.remove_writer(self._control.fileno())

    def _on_readable(self) -> None:
        while self._control is not None:
            try:
                received = wire.receive(self._control)
            except BlockingIOError:
                return
            if received is None:
                self._on_lost()
            elif received[0]["op"] == "ready":
                self._is_ready = True
                self._settled.set()
            else:
                self._dispatch(received[0])

    def _dispatch(self, message: wire.Message) -> None:
        child = self._children.get(message["id"])
        if child is not None and child.hear(message):
            del self._children[message["id"]]

    def _disconnect(self) -> None:
        self._is_ready = False
        if self._control is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._control.fileno())
            loop.remove_writer(self._control.fileno())
            self._control.close()
            self._control = None
        for _, descriptors in self._unsent:
            close_all(descriptors)
        self._unsent.clear()

    def _on_lost(self) -> None:
        was_ready = self._is_ready
        self._disconnect()
        if was_ready:
            self._settled.clear()
            self._recovery = asyncio.get_running_loop().create_task(self._recover())
        else:
            self._settled.set()

    async def _recover(self) -> None:
        """Kill the orphans of the dead guardian, settle their waits, start anew."""
        assert self._process is not None
        await asyncio.to_thread(_await_end, self._process, 0.0)
        await asyncio.to_thread(leftovers.kill_orphans, self._tag_base)
        self._lose_children()
        if self._is_closing:
            self._settled.set()
            return
        try:
            await self._launch()
        except (GuardianLostError, OSError):
            self._settled.set()  # every spawn says so from now on

    def _lose_children(self) -> None:
        for child in self._children.values():
            child.lose()
        self._children.clear()


def _start_process(control: socket.socket, tag_base: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _BOOTSTRAP, str(control.fileno()), str(tag_base), _SOURCE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[control.fileno()],
        start_new_session=True,
        cwd="/",
    )


def _await_end(process: "subprocess.Popen[bytes]", within_s: float) -> None:
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
