"""Server-sent events, bytes in, messages out (WHATWG HTML §9.2.6). No connection, no reconnecting."""

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_MESSAGE_BYTES = 16 * 1024 * 1024


class MessageTooLongError(Exception):
    """More bytes without an end of message than any server of ours sends."""


@dataclass(frozen=True, slots=True)
class Message:
    """One dispatched message. `last_id` is the last id the stream named so far, perhaps in an earlier message."""

    event: str
    data: str
    last_id: str


class Parser:
    """Feed it what arrives, in any pieces."""

    def __init__(self) -> None:
        """At the beginning of a stream."""
        self.retry_s: float | None = None
        self._rest = b""
        self._event = ""
        self._data: list[str] = []
        self._last_id = ""

    def feed(self, piece: bytes) -> Iterator[Message]:
        """The messages that `piece` completes.

        Raises:
            MessageTooLongError: the stream would need unbounded memory.
        """
        lines = (self._rest + piece).replace(b"\r\n", b"\n").split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST_MESSAGE_BYTES:
            raise MessageTooLongError
        for line in lines:
            message = self._line(line.rstrip(b"\r").decode("utf-8", "replace"))
            if message is not None:
                yield message

    def _line(self, line: str) -> Message | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event = value
            case "id" if "\0" not in value:
                self._last_id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry_s = int(value) / 1000
            case _:
                pass  # a comment (an empty name), or a field of a later version
        return None

    def _dispatch(self) -> Message | None:
        event, data = self._event or "message", self._data
        self._event, self._data = "", []
        return Message(event, "\n".join(data), self._last_id) if data else None
