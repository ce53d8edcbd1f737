"""What users see of a run, rebuilt from its events and its input alone.

The promise: whatever the ledger's rows show can be had again from the event stream and the input snapshot. `project` folds the
events, `projection_of` reads the rows, and the two agree byte for byte as canonical JSON. So a fact that users see and no event
carries is a fault, and a test finds it.

Deliberately absent: moments (an event carries its own), what is only true now (place in the queue, who waits for whom), and
evidence that came after an attempt was superseded, for nothing in it may change what was shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.events import StoredEvent
from ringback.domain.ids import RunId
from ringback.domain.runs import Attempt, Cancellation, EndedAttempt, Run
from ringback.domain.states import TERMINAL, Status

Projection = dict[str, Any]
OF_ITS_WORK = ("tool_subrun", "delegation", "handoff", "mcp_session")  # relations to runs that its attempts started


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamDigest:
    """What one stream of output holds: all bytes kept, in the order of their events, over all attempts."""

    byte_count: int
    sha256: str
    dropped_bytes: int = 0


def digest_of(chunks: Iterable[bytes], *, dropped_bytes: int = 0) -> StreamDigest:
    """The digest of a stream that was read in `chunks`; where they were cut makes no difference."""
    stream = _Stream()
    stream.dropped_bytes = dropped_bytes
    for chunk in chunks:
        stream.take(chunk)
    return stream.digest()


def canonical(projection: Mapping[str, Any]) -> bytes:
    """The one JSON text of a projection."""
    return json.dumps(projection, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def projection_of(
    run: Run,
    snapshot: Mapping[str, Any],
    attempts: Iterable[EndedAttempt],
    *,
    result: Mapping[str, Any] | None = None,
    output: Mapping[str, StreamDigest] | None = None,
    links: Iterable[tuple[str, RunId]] = (),
) -> Projection:
    """What users see, from the ledger's rows.

    Args:
        snapshot: the input of the run, as it was frozen.
        attempts: those that have ended, oldest first.
        result: the body of the event at `run.result_sequence`.
        output: by name of the stream.
        links: relation and run, for each run that an attempt of this one started; in any order.
    """
    tried = [_ended_attempt(each) for each in attempts]
    if run.attempt is not None:
        tried.append(_attempt(run.attempt))
    return _projection(
        input=snapshot,
        status=run.status.value,
        failureKind=run.failure_kind and run.failure_kind.value,
        endReason=run.end_reason and run.end_reason.value,
        timeLimit=run.time_limit and run.time_limit.value,
        error=run.error,
        summary=run.summary,
        progress=run.progress,
        result=result,
        attempts=tried,
        cancellation=run.cancellation and _cancellation(run.cancellation),
        output=_output(output or {}),
        links=_links(links),
    )


def project(snapshot: Mapping[str, Any], events: Iterable[StoredEvent]) -> Projection:
    """What users see, from the events alone.

    Args:
        snapshot: the input of the run, as it was frozen.
        events: from the first on, in order; one that was delivered twice counts once.

    Raises:
        ValueError: an event is missing.
    """
    fold, last = _Fold(), 0
    for event in events:
        if event.sequence > last + 1:
            raise ValueError(f"run {event.run_id}: event {last + 1} is missing before {event.sequence}")
        if event.sequence == last + 1:
            fold.take(event)
            last = event.sequence
    return fold.projection(snapshot)


class _Fold:
    """The state of one replay."""

    def __init__(self) -> None:
        self._facts: Projection = {}
        self._attempts: list[Projection] = []
        self._links: list[tuple[str, RunId]] = []
        self._output: dict[str, _Stream] = {}
        self._cancellation: Projection | None = None
        self._last_result: tuple[int, Mapping[str, Any]] | None = None
        self._takers: Mapping[str, Callable[[StoredEvent], None]] = {
            "run.status.changed": self._take_status,
            "attempt.ended": self._take_attempt_ended,
            "tool_result": self._take_result,
            "state.updated": self._take_progress,
            "output.chunk": self._take_chunk,
            "output.dropped": self._take_dropped,
            "cancel.requested": self._take_cancel_requested,
            "cancel.delivered": self._take_cancel_evidence,
            "cancel.acknowledged": self._take_cancel_evidence,
            "link.created": self._take_link,
        }

    def take(self, event: StoredEvent) -> None:
        taker = self._takers.get(event.type)
        if taker is not None:
            taker(event)

    def projection(self, snapshot: Mapping[str, Any]) -> Projection:
        return _projection(
            **self._facts,
            input=snapshot,
            attempts=self._attempts,
            cancellation=self._cancellation,
            output=_output({name: stream.digest() for name, stream in self._output.items()}),
            links=_links(self._links),
        )

    def _take_status(self, event: StoredEvent) -> None:
        status = Status(event.body["to"])
        self._facts["status"] = status.value
        if status is Status.SUBMITTED:
            self._attempts.append({name: event.body[name] for name in ("attemptId", "attemptNo", "reason")})
        if status in TERMINAL:
            for name in ("failureKind", "endReason", "timeLimit", "error", "summary"):
                self._facts[name] = event.body.get(name)
            if self._last_result is not None and self._last_result[0] == event.body.get("resultSequence"):
                self._facts["result"] = self._last_result[1]

    def _take_attempt_ended(self, event: StoredEvent) -> None:
        self._attempts[-1] |= {name: event.body[name] for name in ("outcome", "error") if name in event.body}

    def _take_result(self, event: StoredEvent) -> None:
        self._last_result = (event.sequence, event.body)

    def _take_progress(self, event: StoredEvent) -> None:
        self._facts["progress"] = event.body["progress"]

    def _take_chunk(self, event: StoredEvent) -> None:
        self._output.setdefault(event.body["stream"], _Stream()).take(event.data or b"")

    def _take_dropped(self, event: StoredEvent) -> None:
        self._output.setdefault(event.body["stream"], _Stream()).dropped_bytes += event.body["bytes"]

    def _take_cancel_requested(self, event: StoredEvent) -> None:
        self._cancellation = {"delivered": False, "acknowledged": False, **event.body}

    def _take_cancel_evidence(self, event: StoredEvent) -> None:
        if self._cancellation is not None:
            self._cancellation[event.type.removeprefix("cancel.")] = True

    def _take_link(self, event: StoredEvent) -> None:
        self._links.append((event.body["relationType"], event.body["toRunId"]))


class _Stream:
    """One stream of output while it is read."""

    def __init__(self) -> None:
        self.dropped_bytes = 0
        self._byte_count = 0
        self._digest = hashlib.sha256()

    def take(self, data: bytes) -> None:
        self._byte_count += len(data)
        self._digest.update(data)

    def digest(self) -> StreamDigest:
        sha256 = self._digest.hexdigest()
        return StreamDigest(byte_count=self._byte_count, sha256=sha256, dropped_bytes=self.dropped_bytes)


def _projection(**facts: Any) -> Projection:
    """Both sides' shape: a fact that isn't there is absent, never null."""
    return {name: fact for name, fact in facts.items() if fact is not None}


def _attempt(attempt: Attempt) -> Projection:
    return {"attemptId": attempt.attempt_id, "attemptNo": attempt.attempt_no, "reason": attempt.reason.value}


def _ended_attempt(ended: EndedAttempt) -> Projection:
    return _attempt(ended.attempt) | _projection(outcome=ended.outcome.value, error=ended.error)


def _cancellation(cancellation: Cancellation) -> Projection:
    return _projection(
        by=cancellation.requested_by,
        reason=cancellation.reason,
        delivered=cancellation.delivered_at is not None,
        acknowledged=cancellation.acknowledged_at is not None,
    )


def _links(links: Iterable[tuple[str, RunId]]) -> list[Projection]:
    return [{"relationType": relation, "toRunId": child} for relation, child in sorted(links)]


def _output(streams: Mapping[str, StreamDigest]) -> Projection:
    return {name: _stream(digest) for name, digest in streams.items() if digest.byte_count or digest.dropped_bytes}


def _stream(digest: StreamDigest) -> Projection:
    return _projection(bytes=digest.byte_count, sha256=digest.sha256, dropped=digest.dropped_bytes or None)
