"""Captured output as bytes: any part of it, without ever holding the whole.

A layout says where each chunk lies in the bytes of the streams that are asked for; it costs a few numbers a chunk. What was
dropped because the cap was reached has a place in the layout, and no bytes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from functools import cached_property

from ringback.domain.events import StoredEvent
from ringback.domain.runs import Run
from ringback.ports.store import Store

STREAMS = ("stdout", "stderr")
_TYPES = ("output.chunk", "output.dropped")
_CHUNKS = 16  # read at a time: at most 4 MiB, 1 MiB as workers cut them


@dataclass(frozen=True, slots=True)
class Place:
    """A chunk: its event, and where its bytes begin. `dropped` counts bytes that were not kept after it."""

    sequence: int
    stream: str
    start: int
    size: int
    dropped: int


@dataclass(frozen=True)
class Layout:
    """Chunks in order."""

    places: tuple[Place, ...]

    @property
    def size(self) -> int:
        return self.places[-1].start + self.places[-1].size if self.places else 0

    @cached_property
    def dropped(self) -> int:
        """Bytes that were not kept."""
        return sum(place.dropped for place in self.places)

    @property
    def last_sequence(self) -> int:
        return self.places[-1].sequence if self.places else 0


@dataclass(slots=True, kw_only=True)
class Outputs:
    """Reads what runs wrote."""

    store: Store

    async def layout(self, run: Run, streams: Collection[str] = STREAMS) -> Layout:
        """Where the output lies that has been committed so far."""
        places: list[Place] = []
        start = 0
        for row in await self.store.reads.rows("output_layout", {"run_id": run.run_id}):
            body = json.loads(row["body"])
            if body["stream"] not in streams:
                continue
            size, dropped = (row["size"], 0) if row["type"] == "output.chunk" else (0, body["bytes"])
            places.append(Place(row["sequence"], body["stream"], start, size, dropped))
            start += size
        return Layout(tuple(places))

    async def pieces(
        self, run: Run, layout: Layout, first: int = 0, end: int | None = None
    ) -> AsyncGenerator[tuple[Place, bytes]]:
        """The bytes from `first` up to, not including, `end`, by chunk; a mark of dropped output comes as an empty piece."""
        stop = layout.size if end is None else min(end, layout.size)
        wanted = [each for each in layout.places if _touches(each, first, stop)]
        for index in range(0, len(wanted), _CHUNKS):
            part = wanted[index : index + _CHUNKS]
            found = {event.sequence: event for event in await self._events(run, part)}
            for place in part:
                data = found[place.sequence].data or b""
                yield place, data[max(0, first - place.start) : stop - place.start]

    async def _events(self, run: Run, part: list[Place]) -> list[StoredEvent]:
        found: list[StoredEvent] = []
        after, last = part[0].sequence - 1, part[-1].sequence
        while after < last:
            page = await self.store.reads.events(run.run_id, after=after, limit=_CHUNKS, types=_TYPES)
            if not page:
                break
            found.extend(event for event in page if event.sequence <= last)
            after = page[-1].sequence
        return found

    async def start_of_last_lines(self, run: Run, layout: Layout, count: int, *, bytes_max: int | None = None) -> int:
        """Where the last `count` lines begin, an unfinished one included; not before the last `bytes_max` bytes."""
        least = 0 if bytes_max is None else max(0, layout.size - bytes_max)
        end, left = layout.size, count + 1
        for place in reversed(layout.places):
            if place.start + place.size <= least:
                break
            data = b"".join(
                [piece async for _, piece in self.pieces(run, layout, place.start, place.start + place.size)]
            )
            at = len(data)
            if place.start + at == end and data.endswith(b"\n"):
                at -= 1  # the line end of the last line opens no further one
            while (at := data.rfind(b"\n", 0, at)) >= 0:
                left -= 1
                if left <= 1:
                    return max(least, place.start + at + 1)
        return least


def _touches(place: Place, first: int, stop: int) -> bool:
    if place.size == 0:
        return first <= place.start <= stop
    return place.start < stop and place.start + place.size > first
