"""One warm interpreter, as the worker sees it: a process, its control socket, and the pipes of its output.

Reports arrive by callbacks of the event loop and wait here, in order, until the attempt takes them; taking too slowly
stops the reading, which in the end stops the interpreter's writing. An attempt of the ordinary kind costs one write and
one read of the socket, and one look at each pipe.

The order that output relies on: the interpreter flushes before it says that an attempt ended, so once that is read, the
pipes hold all that the attempt has written, and reading what is in them gives each byte to its attempt.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import termios
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from ringback.worker import wire
from ringback.worker.assignment import OutputStream
from ringback.worker.processes.child import Child, GuardianLostError
from ringback.worker.processes.guardian import Guardian

_READ_SIZE: Final = 64 * 1024
_BACKLOG_MAX: Final = 1024 * 1024
_IMPORTED_MAX: Final = 256 * 1024
_LEAVE_WITHIN_S: Final = 2.0
_NOTHING: Final = bytes(4)


class LoadError(Exception):
    """The application can't be loaded; the message says why, `trace` where."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class Interpreter:
    """A process that carries out one attempt at a time; made by `start`."""

    def __init__(self, child: Child, control: socket.socket) -> None:
        self.child = child
        self.definitions: list[dict[str, Any]] = []
        self.imported: deque[tuple[OutputStream, bytes]] = deque()
        """What importing the application printed (the last of it, if it was much); the first attempt's output."""
        self.is_dead = False
        self.heard_at = 0.0
        """The loop's moment of the last report."""
        self._reports: deque[Any] = deque()
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._buffer = wire.FrameBuffer()
        self._woken: asyncio.Future[None] | None = None
        self._backlog_bytes = 0
        self._is_paused = False
        self._has_exited = False
        self._pipes: dict[int, OutputStream] = {child.stdout: "stdout", child.stderr: "stderr"}
        self._loop.add_reader(control.fileno(), self._on_control)
        self._on_output: Callable[[], None] | None = None
        self._is_loading = True
        self.watch_pipes()
        self._exit = self._loop.create_task(self._await_exit())

    @classmethod
    async def start(
        cls,
        guardian: Guardian,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str,
        within_s: float,
        limits: Mapping[str, int] | None = None,
    ) -> "Interpreter":
        """Start a process and wait until it has loaded the application.

        Raises:
            LoadError: the application can't be loaded, or not in time.
            SpawnError, GuardianLostError: there is no process.
        """
        child = await guardian.spawn(argv, env=env, cwd=cwd, limits=limits, control=True)
        assert child.control is not None  # asked for
        interpreter = cls(child, child.control)
        is_loaded = False
        try:
            async with asyncio.timeout(within_s):
                await interpreter._load()
            is_loaded = True
        except TimeoutError:
            raise LoadError(f"the application didn't load within {within_s:g} s") from None
        finally:
            if not is_loaded:
                await asyncio.shield(interpreter.aclose())
        return interpreter

    # --- talking ---

    async def send(self, frame: Any) -> None:
        """Write a frame; to a dead interpreter nothing is written, its end is seen by the reader."""
        data = wire.pack(frame)
        try:
            sent = self._control.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            return
        if sent < len(data):
            with contextlib.suppress(OSError):
                await self._loop.sock_sendall(self._control, data[sent:])

    async def wait(self) -> None:
        """Return when there are reports, or the interpreter is dead."""
        if self._reports or self.is_dead:
            return
        self._woken = self._loop.create_future()
        try:
            await self._woken
        finally:
            self._woken = None

    def take_reports(self) -> list[Any]:
        """What was reported so far, in order."""
        taken = list(self._reports)
        self._reports.clear()
        self._backlog_bytes = 0
        if self._is_paused:
            self._is_paused = False
            if not self.is_dead:
                self._loop.add_reader(self._control.fileno(), self._on_control)
                self._hear_last_words()
        return taken

    # --- output ---

    def has_output(self) -> bool:
        """Whether there is anything in the pipes now."""
        return any(fcntl.ioctl(pipe, termios.FIONREAD, _NOTHING) != _NOTHING for pipe in self._pipes)

    def begin_output(self, on_output: Callable[[], None]) -> None:
        """From now on output belongs to an attempt, which is told when there is some; what is there is nobody's."""
        if self.has_output():
            self._drop_output()
        self._on_output = on_output

    def end_output(self) -> None:
        """From now on output belongs to nobody."""
        self._on_output = None

    def watch_pipes(self) -> None:
        """Read the pipes here."""
        for pipe in self._pipes:
            self._loop.add_reader(pipe, self._on_pipe, pipe)

    def leave_pipes(self) -> None:
        """Let somebody else read the pipes."""
        for pipe in self._pipes:
            self._loop.remove_reader(pipe)

    def _on_pipe(self, pipe: int) -> None:
        if self._on_output is not None:
            self._on_output()
        elif not self._is_loading:
            self._drop_output()
        elif data := self._read(pipe):
            self.imported.append((self._pipes[pipe], data))
            while sum(len(part) for _, part in self.imported) > _IMPORTED_MAX:
                self.imported.popleft()

    def _drop_output(self) -> None:
        for pipe in self._pipes:
            while self._read(pipe):
                continue

    def _read(self, pipe: int) -> bytes:
        """The next bytes; empty when there are none now, or never again."""
        try:
            data = os.read(pipe, _READ_SIZE)
        except BlockingIOError:
            return b""
        if not data:
            self._loop.remove_reader(pipe)
        return data

    # --- ending ---

    async def kill(self) -> None:
        """End it and everything that descends from it, at once."""
        self._die()
        with contextlib.suppress(GuardianLostError):
            await self.child.kill_tree()

    async def prune(self) -> None:
        """End everything that descends from it."""
        with contextlib.suppress(GuardianLostError):
            await self.child.prune()

    async def leave(self) -> None:
        """Let it end by itself, exit handlers included; by force if that takes long."""
        await self.send(wire.Leave())
        with contextlib.suppress(GuardianLostError, TimeoutError):
            async with asyncio.timeout(_LEAVE_WITHIN_S):
                await self.child.wait()
        await self.aclose()

    async def aclose(self) -> None:
        """Kill what lives and close what is open."""
        await self.kill()
        await self._exit
        self.leave_pipes()
        self.child.close_pipes()

    def epitaph(self) -> str:
        """How the process ended, in words."""
        code = self.child.returncode
        if code is None:
            return "the interpreter was lost"
        if code >= 0:
            return f"the interpreter ended with exit code {code}"
        return f"the interpreter was killed by {signal_name(-code)}"

    # --- what is reported ---

    async def _load(self) -> None:
        await self.wait()
        if not self._reports:
            await self.kill()
            raise LoadError(f"the application can't be loaded: {self.epitaph()}")
        (report,) = self.take_reports()
        if isinstance(report, wire.Broken):
            raise LoadError(f"the application can't be loaded: {report.message}", report.trace)
        while self.has_output():
            for pipe in self._pipes:
                self._on_pipe(pipe)
        self._is_loading = False
        self.definitions = msgspec.json.decode(report.definitions)

    def _on_control(self) -> None:
        try:
            data = self._control.recv(wire.READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._die()
            return
        try:
            for body in self._buffer.feed(data):
                self._reports.append(wire.decode_report(body))
                self._backlog_bytes += len(body)
        except (wire.FrameError, msgspec.MsgspecError):
            self._die()
            return
        self.heard_at = self._loop.time()
        if self._backlog_bytes >= _BACKLOG_MAX and not self._is_paused:
            self._is_paused = True
            self._loop.remove_reader(self._control.fileno())
        self._wake()

    async def _await_exit(self) -> None:
        with contextlib.suppress(GuardianLostError):
            await self.child.wait()
        self._has_exited = True
        self._hear_last_words()

    def _hear_last_words(self) -> None:
        """A dead process may have spoken before; a copy of it may hold the socket open, so its end isn't waited for."""
        while self._has_exited and not self.is_dead and not self._is_paused:
            before = self.heard_at, len(self._reports)
            self._on_control()
            if (self.heard_at, len(self._reports)) == before:
                self._die()

    def _die(self) -> None:
        if not self.is_dead:
            self.is_dead = True
            self._loop.remove_reader(self._control.fileno())
        self._wake()

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)


def signal_name(number: int) -> str:
    """`SIGSEGV`, or the number where there is no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
