"""The frames between a worker and one of its warm interpreters, and how they lie on the control socket.

A frame is a length (4 bytes, big-endian) and a JSON array whose first member names the kind. Both sides refuse a
frame above `FRAME_MAX`, so neither can make the other hold more than that. JSON carries integers of any size and
lets arguments and results pass through as the bytes they are (`Raw`), decoded once, where they are used.
"""

import struct
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

FRAME_MAX: Final = 17 * 1024 * 1024
RESULT_MAX: Final = 8 * 1024 * 1024
"""Bytes of JSON that a result, and the arguments of a child, may have."""
PIECE_MAX: Final = 1024 * 1024
"""Bytes of JSON that one page item, one page or one checkpoint may have."""
READ_SIZE: Final = 256 * 1024

_HEAD: Final = struct.Struct(">I")
NULL: Final = Raw(b"null")


class FrameError(Exception):
    """The other side broke the framing; the connection is of no use any more."""


# --- worker → interpreter ---


class Run(Struct, tag="run", array_like=True, frozen=True, gc=False):
    """Carry this out."""

    attempt_id: str
    run_id: str
    job_id: str
    attempt_no: int
    tool: str
    arguments: Raw
    checkpoint: Raw = NULL
    deadline_ms: int | None = None
    """The earliest limit, in milliseconds since 1970 UTC."""


class Cancel(Struct, tag="cancel", array_like=True, frozen=True, gc=False):
    """The attempt shall stop; one for another attempt than the current one is late and means nothing."""

    attempt_id: str
    why: str


class Answer(Struct, tag="answer", array_like=True, frozen=True, gc=False):
    """The id of the child that was asked for, or why there is none."""

    request_no: int
    run_id: str | None = None
    refusal: str | None = None


class Reply(Struct, tag="reply", array_like=True, frozen=True, gc=False):
    """What became of a question: its status and its answer, or why it could not be asked."""

    request_no: int
    status: str = ""
    response: Raw = NULL
    refusal: str | None = None


class Used(Struct, tag="used", array_like=True, frozen=True, gc=False):
    """What using a capability gave, or why it was refused."""

    request_no: int
    answer: Raw = NULL
    refusal: str | None = None


class Leave(Struct, tag="leave", array_like=True, frozen=True, gc=False):
    """End by yourself, exit handlers included."""


ToInterpreter = Run | Cancel | Answer | Reply | Used | Leave

# --- interpreter → worker ---


class Ready(Struct, tag="ready", array_like=True, frozen=True, gc=False):
    """The application is loaded; these tools are in it."""

    definitions: Raw


class Broken(Struct, tag="broken", array_like=True, frozen=True, gc=False):
    """The application can't be loaded."""

    message: str
    trace: str


class Done(Struct, tag="done", array_like=True, frozen=True, gc=False):
    """The function returned.

    `forked`: there were other processes, some of which may be left. `retire` says why the interpreter must not be used
    again; empty if it may be.
    """

    result: Raw
    summary: str | None = None
    forked: bool = False
    retire: str = ""


class Failed(Struct, tag="failed", array_like=True, frozen=True, gc=False):
    """The function raised, or its result can't be carried. `cancelled` when it ended in answer to a stop."""

    kind: str
    message: str
    detail: Raw = NULL
    retryable: bool = True
    cancelled: bool = False
    forked: bool = False
    retire: str = ""


class Progress(Struct, tag="progress", array_like=True, frozen=True, gc=False):
    """How far the work is."""

    done: float | None
    total: float | None
    message: str | None


class Page(Struct, tag="page", array_like=True, frozen=True, gc=False):
    """The next items of the result."""

    items: Raw


class Checkpoint(Struct, tag="checkpoint", array_like=True, frozen=True, gc=False):
    """The state from which a later attempt may go on."""

    value: Raw


class Start(Struct, tag="start", array_like=True, frozen=True, gc=False):
    """Start a run below this one; an `Answer` with the same number follows."""

    request_no: int
    tool: str
    arguments: Raw


class Ask(Struct, tag="ask", array_like=True, frozen=True, gc=False):
    """Ask people something; a `Reply` with the same number follows, once the question is over. `parks`: at once."""

    request_no: int
    question: Raw
    parks: bool = False


class Withdraw(Struct, tag="withdraw", array_like=True, frozen=True, gc=False):
    """Take back what was asked under a key; a `Reply` with the same number follows."""

    request_no: int
    key: str


class Use(Struct, tag="use", array_like=True, frozen=True, gc=False):
    """Use a capability; a `Used` with the same number follows."""

    request_no: int
    capability: str
    members: Raw


FromInterpreter = Ready | Broken | Done | Failed | Progress | Page | Checkpoint | Start | Ask | Withdraw | Use

_encode: Final = msgspec.json.Encoder().encode
decode_command: Final = msgspec.json.Decoder(ToInterpreter).decode
decode_report: Final = msgspec.json.Decoder(FromInterpreter).decode


def pack(frame: Any) -> bytes:
    """One frame as it lies on the socket.

    Raises:
        FrameError: it is longer than a frame may be.
    """
    body = _encode(frame)
    if len(body) > FRAME_MAX:
        raise FrameError(f"a frame of {len(body)} bytes")
    return _HEAD.pack(len(body)) + body


class FrameBuffer:
    """Cuts a stream of bytes into the bodies of frames."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that are complete now; what is left over waits for more.

        Raises:
            FrameError: the announced length is more than a frame may have.
        """
        if not self._rest and len(data) >= 4 and _length(data) == len(data) - 4:
            return [data[4:]]  # the ordinary case: exactly one frame a read
        rest = self._rest
        rest += data
        bodies: list[bytes] = []
        at = 0
        while len(rest) - at >= 4:
            end = at + 4 + _length(rest, at)
            if end > len(rest):
                break
            bodies.append(bytes(rest[at + 4 : end]))
            at = end
        del rest[:at]
        return bodies


def _length(data: bytes | bytearray, at: int = 0) -> int:
    length: int = _HEAD.unpack_from(data, at)[0]
    if length > FRAME_MAX:
        raise FrameError(f"a frame of {length} bytes is announced")
    return length
