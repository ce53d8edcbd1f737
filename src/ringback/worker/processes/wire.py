"""Messages between a worker and its guardian: one JSON object a packet, descriptors beside it.

The socket keeps packets apart (SOCK_SEQPACKET), so there is no framing. A message that is too long for a packet
travels in an anonymous memory file whose descriptor comes last.
"""

import json
import os
import socket
from collections.abc import Sequence
from typing import Any, Final

INLINE_MAX_BYTES: Final = 60_000
DESCRIPTORS_MAX: Final = 8
_INLINE: Final = b"J"
_BY_FILE: Final = b"F"

Message = dict[str, Any]


def send(peer: socket.socket, message: Message, descriptors: Sequence[int] = ()) -> None:
    """Send one message; the descriptors are duplicated into the peer and stay open here.

    Raises:
        BlockingIOError: the socket does not block and its buffer is full; nothing was sent.
    """
    body = json.dumps(message, separators=(",", ":")).encode()
    if len(body) <= INLINE_MAX_BYTES:
        socket.send_fds(peer, [_INLINE, body], list(descriptors))
        return
    with open(os.memfd_create("ringback"), "w+b", buffering=0) as file:  # noqa: PTH123
        view = memoryview(body)
        while view:
            view = view[file.write(view) :]
        file.seek(0)
        socket.send_fds(peer, [_BY_FILE], [*descriptors, file.fileno()])


def receive(peer: socket.socket) -> tuple[Message, list[int]] | None:
    """The next message with its descriptors, which the caller has to close; None when the peer is gone."""
    try:
        body, descriptors, _, _ = socket.recv_fds(peer, INLINE_MAX_BYTES + 1, DESCRIPTORS_MAX, socket.MSG_CMSG_CLOEXEC)
    except (ConnectionResetError, BrokenPipeError):
        return None
    if not body:
        return None
    text = body[1:]
    if body[:1] == _BY_FILE:
        with open(descriptors.pop(), "rb") as file:  # noqa: PTH123
            file.seek(0)
            text = file.read()
    message: Message = json.loads(text)
    return message, descriptors
