"""What the two ways to a server have in common: messages out, messages in, and an honest end.

Nothing of what a server writes is trusted. What is no message comes out as `Noise`; a message beyond the limit is let
go while it arrives, and comes out as `TooLarge` with the id of the request that it belongs to, if its ends tell.
"""

from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

MESSAGE_MAX: Final = 16 * 1024 * 1024
"""Bytes of one message; a run's result may have half of that."""

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Noise:
    """Bytes where a message belongs."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TooLarge:
    """A message that was let go; `ends` is how it begins and how it ends."""

    size: int
    ends: bytes


Incoming = Message | Noise | TooLarge


class Transport(Protocol):
    """A connection with a server. One reader, any number of writers.

    Attributes:
        protocol_version: what was agreed on in the handshake, which HTTP repeats with every message.
    """

    protocol_version: str | None

    async def send(self, message: Message) -> None:
        """Write one message; waits while the server doesn't read.

        Raises:
            GoneError: there is nobody to write to.
        """
        ...

    async def receive(self) -> list[Incoming]:
        """What came next: one item, or those of a batch.

        Raises:
            GoneError: nothing comes any more.
        """
        ...

    async def aclose(self, grace_s: float) -> bool:
        """End it, and the server's process with all its descendants; whether that took force."""
        ...


def messages_in(line: bytes) -> list[Incoming]:
    """The messages of one line: one, a batch of them (until 2025-03-26), or noise."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return [Noise(line)]
    found = value if isinstance(value, list) else [value]
    return [each if _is_message(each) else Noise(msgspec.json.encode(each)) for each in found]


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return False
    is_call = isinstance(value.get("method"), str)
    return is_call or ("id" in value and ("result" in value or isinstance(value.get("error"), dict)))
