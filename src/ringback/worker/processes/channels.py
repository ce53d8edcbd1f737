"""The pipes, the input file and the control socket between a worker and one child, before either end is used."""

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

PIPE_BYTES: Final = 256 * 1024
Feed = Literal["feed"]
FEED: Final = "feed"
"""In place of what a program reads: a pipe, fed while it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """The worker's ends: non-blocking descriptors (-1 when there is none), and a stream socket."""

    stdin: int = -1
    stdout: int = -1
    stderr: int = -1
    control: socket.socket | None = None


def open_channels(stdin: bytes | Feed | None, *, control: bool, capture: bool) -> tuple[Channels, dict[str, int]]:
    """Open what is asked for; the second value holds the child's ends by name, and the caller has to close them."""
    theirs: dict[str, int] = {}
    feed = stdout = stderr = -1
    ours: socket.socket | None = None
    if stdin == FEED:
        theirs["stdin"], feed = os.pipe()
        os.set_blocking(feed, False)
    elif isinstance(stdin, bytes):
        theirs["stdin"] = _input_file(stdin)
    if capture:
        stdout, theirs["stdout"] = _pipe()
        stderr, theirs["stderr"] = _pipe()
    if control:
        ours, other = socket.socketpair()
        ours.setblocking(False)
        theirs["control"] = other.detach()
    return Channels(stdin=feed, stdout=stdout, stderr=stderr, control=ours), theirs


def close_all(descriptors: Iterable[int]) -> None:
    """Close each of them."""
    for descriptor in descriptors:
        os.close(descriptor)


def _input_file(content: bytes) -> int:
    """A memory file that the child reads to its end, so that nobody has to feed a pipe."""
    descriptor = os.memfd_create("stdin")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _pipe() -> tuple[int, int]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    # An ordinary user may hold so many pages in pipes and no more; the default size will do, then.
    with contextlib.suppress(OSError):
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return reader, writer
