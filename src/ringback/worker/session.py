"""A session of this worker with the server, and what the link asks of the one who holds the session's attempts."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ringback.worker.lease import Instant, Lease
from ringback.worker.messages import Attached, Cancel, Key


class Holder(Protocol):
    """Who holds the attempts; none of these waits."""

    def held(self) -> Sequence[Key]:
        """The attempts of this session whose settle has not been answered yet."""
        ...

    def take(self, claims: Sequence[Mapping[str, Any]], count: int) -> None:
        """Start the first `count` claims (their slots are taken already) and give the others back."""
        ...

    def cancel(self, order: Cancel) -> None:
        """Stop an attempt; an unknown or ended one is left alone."""
        ...

    def answered(self, run_id: str, *, is_waiting: bool) -> None:
        """There is news of a run's questions: its attempt should look. `is_waiting`: it waits for somebody now."""
        ...

    def waiting(self, run_ids: Sequence[str]) -> None:
        """These runs wait for somebody now, and no others."""
        ...

    def lose(self, key: Key) -> None:
        """Kill an attempt that is no longer this worker's."""
        ...

    def lose_all(self, *, discard: bool) -> None:
        """Kill all attempts; with `discard` what they reported is worthless too."""
        ...


class Session:
    """One attachment, with its lease."""

    def __init__(self, answer: Attached, sent: Instant) -> None:
        """`sent` is when the attach was sent."""
        self.session_id = answer.session_id
        self.epoch = answer.epoch
        self.heartbeat_s = answer.heartbeat_interval_ms / 1000
        self.lease = Lease(lease_s=answer.lease_ms / 1000, sent=sent)
        self.renewed = asyncio.Event()

    def path(self, verb: str) -> str:
        """Where a request of this session goes."""
        return f"/v1/workers/{self.session_id}/{verb}"
