"""A place where a test may wait for something that the engine did."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Probe(Generic[T]):
    """Does nothing until a test arms it, so production pays for one attribute check."""

    def __init__(self) -> None:
        self._seen: asyncio.Queue[T] | None = None

    def arm(self) -> None:
        self._seen = asyncio.Queue()

    def hit(self, value: T) -> None:
        if self._seen is not None:
            self._seen.put_nowait(value)

    async def next(self, *, within_s: float = 5) -> T:
        assert self._seen is not None, "arm() the probe before the thing it watches starts"
        async with asyncio.timeout(within_s):
            return await self._seen.get()
