"""Results: in pages, as they came, and rebuilt from the events to prove that nothing else is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringback.domain.errors import JobCancelledError, NotFinishedError
from ringback.domain.events import StoredEvent
from ringback.domain.replay import StreamDigest, canonical, digest_of, project, projection_of
from ringback.domain.runs import Run
from ringback.domain.states import Status
from ringback.ports.store import Store
from ringback.services.pages import read_cursor, write_cursor

PAGE_BYTES = 64 * 1024
PAGE_BYTES_MAX = 4 * 1024 * 1024
_EVENTS = 200
_PARTS = ("artifact.updated", "output.chunk")
_STREAMS = ("stdout", "stderr")
_BORN_WITH = ("depends_on", "rerun_of")  # relations that a run has from its creation, not by what its work did


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """A part of a result, and where the next part begins.

    Attributes:
        items: items of the pages that the work published; None when there are none on this page.
        output: captured output, both streams as they came; bytes, because nothing says that it is text.
        value: the body of the final result, on the last page.
        next_cursor: None on the last page.
    """

    run: Run
    items: list[Any] | None
    output: bytes
    value: dict[str, Any] | None
    next_cursor: str | None


@dataclass(slots=True, kw_only=True)
class Results:
    """Reads what runs brought."""

    store: Store

    async def page(
        self, run: Run, *, cursor: str | None = None, max_bytes: int = PAGE_BYTES, is_partial: bool = False
    ) -> ResultPage:
        """A part of the result of about `max_bytes`, never empty while there is more.

        Raises:
            NotFinishedError: it is under way, and a partial result was not asked for.
            JobCancelledError: it was cancelled, and a partial result was not asked for.
            InvalidCursorError: not a cursor of this result.
        """
        if not run.is_terminal and not is_partial:
            raise NotFinishedError(run.run_id)
        if run.status is Status.CANCELED and not is_partial:
            raise JobCancelledError(run.run_id)
        query = {"result": run.run_id}
        after = 0 if cursor is None else int(read_cursor(cursor, query))
        parts, is_last = await self._parts(run, after, max(1, min(max_bytes, PAGE_BYTES_MAX)))
        items = [item for part in parts if part.data is None for item in part.body.get("items", ())]
        is_last = is_last and run.is_terminal
        return ResultPage(
            run=run,
            items=items or None,
            output=b"".join(part.data for part in parts if part.data is not None),
            value=await self.value(run) if is_last else None,
            next_cursor=None if is_last else write_cursor(parts[-1].sequence if parts else after, query),
        )

    async def _parts(self, run: Run, after: int, max_bytes: int) -> tuple[list[StoredEvent], bool]:
        """Events that fit, and whether they are the last."""
        parts: list[StoredEvent] = []
        size, position = 0, after
        while found := await self.store.reads.events(run.run_id, after=position, limit=_EVENTS, types=_PARTS):
            for event in found:
                size += len(event.data) if event.data is not None else len(str(event.body))
                if parts and size > max_bytes:
                    return parts, False
                parts.append(event)
                position = event.sequence
        return parts, True

    async def value(self, run: Run) -> dict[str, Any] | None:
        """The body of the run's result, `{result?, exitCode?, signal?, error?}`; None when it has none."""
        if run.result_sequence is None:
            return None
        found = await self.store.reads.events(run.run_id, after=run.result_sequence - 1, limit=1)
        return dict(found[0].body) if found else None

    async def output(self, run: Run, *, after: int = 0, streams: Sequence[str] = _STREAMS) -> list[StoredEvent]:
        """The next chunks (`body.stream`, `body.offset`, `data`) behind event `after`, about 64 kB each; empty at the end."""
        found = await self.store.reads.events(
            run.run_id, after=after, limit=50, types=("output.chunk", "output.dropped")
        )
        return [event for event in found if event.body["stream"] in streams] or (
            await self.output(run, after=found[-1].sequence, streams=streams) if found else []
        )

    async def replay(self, run: Run) -> tuple[bool, dict[str, Any]]:
        """Rebuild what users see from events and input; whether it equals the ledger's own rows, and what it is."""
        reads = self.store.reads
        facts = (await reads.facts([run.run_id]))[run.run_id]
        events: list[StoredEvent] = []
        while page := await reads.events(run.run_id, after=len(events), limit=_EVENTS):
            events.extend(page)
        links = [link for link in await reads.links(run.run_id) if link.relation not in _BORN_WITH]
        recorded = projection_of(
            run,
            facts.input,
            await reads.attempts(run.run_id),
            result=await self.value(run),
            output=_digests(events),
            links=[(link.relation, link.to_run_id) for link in links],
        )
        rebuilt = project(facts.input, events)
        return canonical(rebuilt) == canonical(recorded), rebuilt


def _digests(events: Sequence[StoredEvent]) -> dict[str, StreamDigest]:
    found: dict[str, StreamDigest] = {}
    for stream in _STREAMS:
        chunks = [event.data for event in events if event.data is not None and event.body.get("stream") == stream]
        dropped = sum(e.body["bytes"] for e in events if e.type == "output.dropped" and e.body["stream"] == stream)
        if chunks or dropped:
            found[stream] = digest_of(chunks, dropped_bytes=dropped)
    return found
