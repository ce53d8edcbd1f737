"""Results: in pages, as they came, and rebuilt from the events to prove that nothing else is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.errors import InvalidCursorError, JobCancelledError, NotFinishedError
from ringback.domain.events import StoredEvent
from ringback.domain.replay import OF_ITS_WORK, StreamDigest, canonical, digest_of, project, projection_of
from ringback.domain.runs import Run
from ringback.domain.states import Status
from ringback.ports.store import Store
from ringback.services.pages import read_cursor, write_cursor

PAGE_BYTES = 64 * 1024
PAGE_BYTES_MAX = 4 * 1024 * 1024
CHARACTER_BYTES = 4  # the longest character of UTF-8; a smaller page would have to cut one
_EVENTS = 50
_PARTS = ("artifact.updated", "output.chunk", "output.dropped")
_STREAMS = ("stdout", "stderr")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """A part of a result, and where the next part begins.

    Attributes:
        items: items of the pages that the work published; None when there are none on this page.
        output: captured output, both streams as they came; bytes, because nothing says that it is text.
        dropped: bytes of output that were not kept, because the cap was reached.
        value: the body of the final result, on the last page.
        next_cursor: None on the last page.
    """

    run: Run
    items: list[Any] | None
    output: bytes
    dropped: int
    value: dict[str, Any] | None
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class _Place:
    """Behind event `sequence`, and behind `skip` bytes of the next chunk."""

    sequence: int = 0
    skip: int = 0


@dataclass(slots=True)
class _Part:
    """A page while it is put together."""

    end: _Place
    items: list[Any] = field(default_factory=list)
    output: bytearray = field(default_factory=bytearray)
    chunks: list[tuple[int, int]] = field(default_factory=list)  # events whose bytes are in `output`, with their sizes
    dropped: int = 0
    size: int = 0
    has_more: bool = False

    def take(self, event: StoredEvent, max_bytes: int) -> bool:
        """Add an event, or as much of it as fits; whether there may be room for more."""
        if event.data is None:
            return self._take_whole(event, max_bytes)
        data = event.data[self.end.skip :]
        room = max_bytes - self.size
        if room <= 0:
            self.has_more = True
            return False
        taken = data[:room]
        self.output += taken
        self.size += len(taken)
        self.chunks.append((event.sequence, len(taken)))
        self.has_more = len(taken) < len(data)
        self.end = _Place(event.sequence - 1, self.end.skip + len(taken)) if self.has_more else _Place(event.sequence)
        return not self.has_more

    def _take_whole(self, event: StoredEvent, max_bytes: int) -> bool:
        size = len(canonical(event.body))
        if self.size and self.size + size > max_bytes:
            self.has_more = True
            return False
        self.items.extend(event.body.get("items", ()))
        self.dropped += event.body.get("bytes", 0)
        self.size += size
        self.end = _Place(event.sequence)
        self.chunks.clear()  # what lies before it is not cut any more
        return True

    def end_on_text(self, begin: _Place) -> _Place:
        """Give back what follows the last line end, or at least half a character, and say where the page now ends."""
        movable = sum(size for _, size in self.chunks)
        surplus = _surplus(bytes(self.output[len(self.output) - movable :]), is_cut=self.has_more)
        if not surplus:
            return self.end
        del self.output[len(self.output) - surplus :]
        while surplus >= self.chunks[-1][1]:
            surplus -= self.chunks.pop()[1]
        sequence, size = self.chunks[-1]
        skipped = begin.skip if sequence == begin.sequence + 1 else 0
        return _Place(sequence - 1, skipped + size - surplus) if surplus else _Place(sequence)


def _surplus(output: bytes, *, is_cut: bool) -> int:
    """How many bytes at the end of a page are better read with the next one; never all of them."""
    if is_cut and (line_end := output.rfind(b"\n")) >= 0:
        return len(output) - line_end - 1
    for back in range(1, min(4, len(output))):
        byte = output[-back]
        if byte >= 0xC0:  # the first byte of a character that takes more bytes than are here
            return back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if byte < 0x80:
            return 0
    return 0


def _place_in(cursor: str, run: Run) -> _Place:
    text = str(read_cursor(cursor, {"result": run.run_id}))
    sequence, _, skip = text.partition(".")
    if not (sequence.isdigit() and skip.isdigit()) or int(sequence) > run.event_sequence:
        raise InvalidCursorError("cursor", "not a cursor of this result")
    return _Place(int(sequence), int(skip))


@dataclass(slots=True, kw_only=True)
class Results:
    """Reads what runs brought."""

    store: Store

    async def page(
        self, run: Run, *, cursor: str | None = None, max_bytes: int = PAGE_BYTES, is_partial: bool = False
    ) -> ResultPage:
        """A part of the result of at most `max_bytes` bytes of output (4 at least), never empty while there is more.

        A part ends with a line where it can, and never within a character, so that parts may be read as text one by one.

        Raises:
            NotFinishedError: it is under way, and a partial result was not asked for.
            JobCancelledError: it was cancelled, and a partial result was not asked for.
            InvalidCursorError: not a cursor of this result.
        """
        if not run.is_terminal and not is_partial:
            raise NotFinishedError(run.run_id)
        if run.status is Status.CANCELED and not is_partial:
            raise JobCancelledError(run.run_id)
        begin = _Place() if cursor is None else _place_in(cursor, run)
        part = await self._part(run, begin, max(CHARACTER_BYTES, min(max_bytes, PAGE_BYTES_MAX)))
        is_last = run.is_terminal and not part.has_more
        end = part.end if is_last else part.end_on_text(begin)
        return ResultPage(
            run=run,
            items=part.items or None,
            output=bytes(part.output),
            dropped=part.dropped,
            value=await self.value(run) if is_last else None,
            next_cursor=None if is_last else write_cursor(f"{end.sequence}.{end.skip}", {"result": run.run_id}),
        )

    async def _part(self, run: Run, begin: _Place, max_bytes: int) -> _Part:
        part, position = _Part(end=begin), begin.sequence
        while found := await self.store.reads.events(run.run_id, after=position, limit=_EVENTS, types=_PARTS):
            for event in found:
                if not part.take(event, max_bytes):
                    return part
                position = event.sequence
        return part

    async def value(self, run: Run) -> dict[str, Any] | None:
        """The body of the run's result, `{result?, exitCode?, signal?, error?}`; None when it has none."""
        if run.result_sequence is None:
            return None
        found = await self.store.reads.events(run.run_id, after=run.result_sequence - 1, limit=1)
        return dict(found[0].body) if found else None

    async def replay(self, run: Run) -> tuple[bool, dict[str, Any]]:
        """Rebuild what users see from events and input; whether it equals the ledger's own rows, and what it is."""
        reads = self.store.reads
        facts = (await reads.facts([run.run_id]))[run.run_id]
        events: list[StoredEvent] = []
        while page := await reads.events(run.run_id, after=len(events), limit=_EVENTS):
            events.extend(page)
        links = [link for link in await reads.links(run.run_id) if link.relation in OF_ITS_WORK]
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
