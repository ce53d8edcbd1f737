"""The bodies of the worker protocol: what the server's answers are read into, and how reports are written.

Only the envelopes are typed here; an assignment stays the JSON object that `Assignment.from_wire` reads. Members that
this version does not know are left alone, so that a newer server can say more.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

DecodeError = msgspec.DecodeError
PROTOCOL_VERSION: Final = 1
CLAIM_WAIT_MS: Final = 20_000


class Key(NamedTuple):
    """Which attempt is meant: a run, and the fence of one claim of it."""

    run_id: str
    fence: int


class Cancel(msgspec.Struct, frozen=True, rename="camel"):
    """The server's word that an attempt is to be stopped."""

    run_id: str
    fence: int
    reason: str | None = None
    grace_ms: int | None = None

    @property
    def key(self) -> Key:
        """The attempt that is meant."""
        return Key(self.run_id, self.fence)


class Lost(msgspec.Struct, frozen=True, rename="camel"):
    """The server's word that an attempt is no longer this worker's."""

    run_id: str
    fence: int

    @property
    def key(self) -> Key:
        """The attempt that is meant."""
        return Key(self.run_id, self.fence)


class Result(msgspec.Struct, frozen=True, rename="camel"):
    """The server's answer to one report."""

    ok: bool
    code: str | None = None
    detail: str | None = None
    child_run_id: str | None = None
    interaction_id: str | None = None
    interaction_status: str | None = None
    response: dict[str, Any] | None = None
    callback_path: str | None = None
    callback_url: str | None = None
    delivery: dict[str, Any] | None = None
    requests: list[dict[str, Any]] = []
    value: Any = msgspec.UNSET
    version: int | None = None
    written: bool | None = None
    children: list[dict[str, Any]] = []
    continuation: dict[str, Any] | None = None


class Attached(msgspec.Struct, frozen=True, rename="camel"):
    """The answer to an attach."""

    session_id: str
    heartbeat_interval_ms: int
    lease_ms: int
    epoch: int = 0
    runtime_connection_id: str | None = None


class Claimed(msgspec.Struct, frozen=True, rename="camel"):
    """The answer to a claim."""

    claims: list[dict[str, Any]] = []
    cancels: list[Cancel] = []
    answered: list[str] = []
    """Runs with news of a question."""
    waiting: list[str] = []
    """Those of them that wait for somebody now."""


class Reported(msgspec.Struct, frozen=True, rename="camel"):
    """The answer to a batch of reports."""

    results: list[Result]
    claims: list[dict[str, Any]] = []
    cancels: list[Cancel] = []
    answered: list[str] = []
    waiting: list[str] = []


class Beaten(msgspec.Struct, frozen=True, rename="camel"):
    """The answer to a heartbeat."""

    cancels: list[Cancel] = []
    lost: list[Lost] = []
    waiting: list[str] = []
    """Runs that wait for somebody now: all of them."""


class Problem(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an error's body (RFC 9457) that the worker acts on."""

    code: str | None = None
    title: str | None = None
    detail: str | None = None


REPORTED: Final = msgspec.json.Decoder(Reported)
CLAIMED: Final = msgspec.json.Decoder(Claimed)
BEATEN: Final = msgspec.json.Decoder(Beaten)
ATTACHED: Final = msgspec.json.Decoder(Attached)
_PROBLEM: Final = msgspec.json.Decoder(Problem)
_ENCODER: Final = msgspec.json.Encoder()


def report(key: Key, kind: str, members: Mapping[str, Any]) -> bytes:
    """One report as JSON; bytes become base64.

    Raises:
        TypeError, ValueError, RecursionError: the members hold something that JSON cannot.
    """
    return _ENCODER.encode({"runId": key.run_id, "fence": key.fence, "kind": kind, **members})


def report_body(reports: Iterable[bytes], *, batch: int, slots: int) -> bytes:
    """The body of a batch of reports that are JSON already; one that is sent again keeps its number."""
    return b'{"batch":%d,"slots":%d,"reports":[%b]}' % (batch, slots, b",".join(reports))


def claim_body(slots: int, wait_ms: int) -> bytes:
    """The body of a claim."""
    return b'{"slots":%d,"waitMs":%d}' % (slots, wait_ms)


def heartbeat_body(held: Sequence[Key]) -> bytes:
    """The body of a heartbeat."""
    return _ENCODER.encode({"held": [{"runId": key.run_id, "fence": key.fence} for key in held]})


def attach_body(identity: Mapping[str, Any], connection: tuple[str, int] | None) -> bytes:
    """The body of an attach: who the worker is, and the connection that it goes on with, with its last epoch."""
    if connection is None:
        return _ENCODER.encode(identity)
    connection_id, epoch = connection
    return _ENCODER.encode({**identity, "runtimeConnectionId": connection_id, "connectionEpoch": epoch})


def problem(body: bytes) -> Problem:
    """Read an error's body, or nothing where it is no JSON object."""
    try:
        return _PROBLEM.decode(body)
    except msgspec.DecodeError:
        return Problem()
