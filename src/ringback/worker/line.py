"""An interpreter's end of the control socket: where work comes from, and what an attempt says while it runs.

There is no thread behind it. Between attempts the main thread waits in `next_run`; during one, whoever calls the
context takes a look at the socket in passing, and the event loop of an async tool watches it like any other. So a
call costs one read and one write, user code may fork without meeting a second thread, and a stop is seen exactly
where it can be acted upon. Code that never looks is ended from outside. When the worker is gone, so are we.
"""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from . import wire
from .jsonable import TooLargeError, clean, to_json
from .signals import Cancelled, ChildRefusedError

if TYPE_CHECKING:
    import asyncio

_ORPHANED: Final = 70
_PROGRESS_PER_S: Final = 100
_MESSAGE_MAX: Final = 200
_TERMINAL: Final = (wire.Done, wire.Failed)
_Answer = wire.Answer | wire.Reply | wire.Used


class Line:
    """Frames out, frames in, and the stop of the current attempt."""

    def __init__(self, control: socket.socket) -> None:
        self._socket = control
        self._buffer = wire.FrameBuffer()
        self._runs: list[wire.Run | wire.Leave] = []
        self._reading = threading.RLock()
        self._writing = threading.Lock()
        self._answers: dict[int, _Answer] = {}
        self._awaited: dict[int, asyncio.Future[_Answer]] = {}
        self._requests = 0
        self._attempt_id = ""
        self._progress = _Allowance(_PROGRESS_PER_S)
        self._held_back: wire.Progress | None = None
        self._is_fork = False
        self._stop: wire.Cancel | None = None
        self.why: str | None = None
        """Why the current attempt was asked to stop, once it was."""
        self.on_cancel: Callable[[], object] | None = None
        """Set while an async tool runs: tells its task."""
        os.register_at_fork(after_in_child=self._become_fork)

    @property
    def is_async(self) -> bool:
        """Whether the current tool is an async one, asking from its event loop."""
        return self.on_cancel is not None

    def fileno(self) -> int:
        """For an event loop that watches the socket; it calls `poll`."""
        return self._socket.fileno()

    # --- between attempts ---

    def next_run(self) -> wire.Run | None:
        """Wait for work; None means leave."""
        while not self._runs:
            self._take(self._socket.recv(wire.READ_SIZE))
        run = self._runs.pop(0)
        if isinstance(run, wire.Leave):
            return None
        self._attempt_id = run.attempt_id
        self._progress.renew()
        # Where everybody is slow, the stop of an attempt may arrive together with the attempt.
        early = self._stop
        self.why = early.why if early is not None and early.attempt_id == run.attempt_id else None
        return run

    def send(self, frame: Any) -> None:
        """Write one frame; blocks while the worker doesn't keep up."""
        if self._is_fork and isinstance(frame, _TERMINAL):
            os._exit(0)  # a copy of this process, made by the tool, came back from the tool as well
        data = wire.pack(frame)
        with self._writing:
            self._socket.sendall(data)

    def finish(self, ending: wire.Done | wire.Failed) -> None:
        """Say how the attempt ended; nothing more is said about it."""
        if self._held_back is not None:
            self.send(self._held_back)
            self._held_back = None
        self._answers.clear()
        self._awaited.clear()
        self.on_cancel = None
        self.send(ending)

    # --- during an attempt ---

    def poll(self) -> None:
        """Take what has arrived, without waiting."""
        if self._is_fork or not self._reading.acquire(blocking=False):
            return  # somebody else is reading and will take it
        try:
            self._take(self._socket.recv(wire.READ_SIZE, socket.MSG_DONTWAIT))
        except BlockingIOError:
            pass
        finally:
            self._reading.release()

    def check(self) -> None:
        """Let a sync tool notice its stop; an async one notices at its next await.

        Raises:
            Cancelled: the attempt was asked to stop.
        """
        self.poll()
        if self.why is not None and self.on_cancel is None:
            raise Cancelled(self.why)

    def progress(self, done: float | None, total: float | None, message: str | None) -> None:
        """Tell how far the work is; above 100 a second only the last one of a burst is kept."""
        frame = wire.Progress(done, total, message if message is None else clean(message, _MESSAGE_MAX))
        if self._progress.take():
            self._held_back = None
            self.send(frame)
        else:
            self._held_back = frame

    def page(self, items: list[Any]) -> None:
        """Send items of the result, in as many frames as they need."""
        try:
            encoded = to_json(items, limit=wire.PIECE_MAX)
        except TooLargeError:
            if len(items) < 2:
                raise
            half = len(items) // 2
            self.page(items[:half])
            self.page(items[half:])
        else:
            self.send(wire.Page(encoded))

    def log(self, text: str) -> None:
        """Write a line to the output."""
        print(text, file=sys.stderr, flush=True)

    def start(self, tool: str, arguments: dict[str, Any]) -> str:
        """Start a run below this one and wait until it's accepted.

        Raises:
            ChildRefusedError: it was refused.
            Cancelled: the attempt was asked to stop meanwhile.
        """
        encoded = to_json(arguments)
        return _accepted(self._answer_to(lambda number: wire.Start(number, tool, encoded)))

    def ask(self, question: dict[str, Any], *, parks: bool = False) -> wire.Reply:
        """Ask people something and wait until that is over; who parks hears at once how it stands.

        Raises:
            Cancelled: the attempt was asked to stop meanwhile.
        """
        encoded = to_json(question)
        answer = self._answer_to(lambda number: wire.Ask(number, encoded, parks))
        assert isinstance(answer, wire.Reply)
        return answer

    async def ask_async(self, question: dict[str, Any], *, parks: bool = False) -> wire.Reply:
        """As `ask`, while the loop goes on. Who stops waiting takes the question back."""
        encoded = to_json(question)
        try:
            answer = await self._answer_to_async(lambda number: wire.Ask(number, encoded, parks))
        except BaseException:
            if self.why is None:  # nobody waits for it any more, and the attempt goes on
                self.send(wire.Withdraw(self._number(), str(question["key"])))
            raise
        assert isinstance(answer, wire.Reply)
        return answer

    def withdraw(self, key: str) -> wire.Reply:
        """Take back what was asked under a key."""
        answer = self._answer_to(lambda number: wire.Withdraw(number, key))
        assert isinstance(answer, wire.Reply)
        return answer

    async def withdraw_async(self, key: str) -> wire.Reply:
        """As `withdraw`, while the loop goes on."""
        answer = await self._answer_to_async(lambda number: wire.Withdraw(number, key))
        assert isinstance(answer, wire.Reply)
        return answer

    def use(self, capability: str, members: dict[str, Any]) -> wire.Used:
        """Use a capability and wait for what it gives."""
        encoded = to_json(members)
        answer = self._answer_to(lambda number: wire.Use(number, capability, encoded))
        assert isinstance(answer, wire.Used)
        return answer

    async def use_async(self, capability: str, members: dict[str, Any]) -> wire.Used:
        """As `use`, while the loop goes on."""
        encoded = to_json(members)
        answer = await self._answer_to_async(lambda number: wire.Use(number, capability, encoded))
        assert isinstance(answer, wire.Used)
        return answer

    def _answer_to(self, request: Callable[[int], Any]) -> _Answer:
        number = self._number()
        self.send(request(number))
        while True:
            with self._reading:
                if number in self._answers:
                    return self._answers.pop(number)
                if self.why is not None:
                    raise Cancelled(self.why)
                self._take(self._socket.recv(wire.READ_SIZE))

    async def _answer_to_async(self, request: Callable[[int], Any]) -> _Answer:
        import asyncio  # only async tools pay for it

        answered: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        number = self._number()
        self._awaited[number] = answered
        self.send(request(number))
        return await answered

    async def start_async(self, tool: str, arguments: dict[str, Any]) -> str:
        """As `start`, while the loop goes on."""
        encoded = to_json(arguments)
        return _accepted(await self._answer_to_async(lambda number: wire.Start(number, tool, encoded)))

    def _number(self) -> int:
        with self._writing:
            self._requests += 1
            return self._requests

    # --- what arrives ---

    def _take(self, data: bytes) -> None:
        if not data:
            os._exit(_ORPHANED)
        for body in self._buffer.feed(data):
            frame = wire.decode_command(body)
            match frame:
                case wire.Run() | wire.Leave():
                    self._runs.append(frame)
                case wire.Cancel():
                    self._take_stop(frame)
                case wire.Answer() | wire.Reply() | wire.Used():
                    self._answer(frame)

    def _take_stop(self, cancel: wire.Cancel) -> None:
        self._stop = cancel
        if cancel.attempt_id != self._attempt_id:
            return
        self.why = cancel.why
        if self.on_cancel is not None:
            self.on_cancel()

    def _answer(self, answer: _Answer) -> None:
        future = self._awaited.pop(answer.request_no, None)
        if future is None:
            self._answers[answer.request_no] = answer
        else:
            future.get_loop().call_soon_threadsafe(_resolve, future, answer)

    def _become_fork(self) -> None:
        self._is_fork = True
        self._reading = threading.RLock()
        self._writing = threading.Lock()


class _Allowance:
    """So many a second, bursts included."""

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._left = per_s
        self._since = 0.0

    def renew(self) -> None:
        """A new attempt owes nothing to the one before."""
        self._left = self._per_s

    def take(self) -> bool:
        """Whether there is one left."""
        now = time.monotonic()
        if now - self._since >= 1.0:
            self._since = now
            self._left = self._per_s
        self._left -= 1
        return self._left >= 0


def _accepted(answer: _Answer) -> str:
    if not isinstance(answer, wire.Answer) or answer.run_id is None:
        raise ChildRefusedError(answer.refusal or "refused")
    return answer.run_id


def _resolve(future: "asyncio.Future[_Answer]", answer: _Answer) -> None:
    if not future.done():
        future.set_result(answer)
