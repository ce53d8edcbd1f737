"""What a hosted server says while a run uses it: stderr, log messages, noise among its answers; masked and capped."""

import asyncio
from typing import Final

from ringback.worker.assignment import OutputStream, Reporter
from ringback.worker.capture import CAP_BYTES, CHUNK_BYTES
from ringback.worker.masking import Mask, MaskedStream


class SessionOutput:
    """The output of one run's use of a session."""

    def __init__(self, reporter: Reporter, mask: Mask, *, cap_bytes: int = CAP_BYTES) -> None:
        self._reporter: Final = reporter
        self._streams: dict[OutputStream, MaskedStream] = {"stdout": MaskedStream(mask), "stderr": MaskedStream(mask)}
        self._dropped: dict[OutputStream, int] = {"stdout": 0, "stderr": 0}
        self._left = cap_bytes
        self._turn = asyncio.Lock()
        self.last_at = asyncio.get_running_loop().time()

    async def write(self, stream: OutputStream, data: bytes) -> None:
        """Pass it on, as far as there is room."""
        self.last_at = asyncio.get_running_loop().time()
        async with self._turn:
            await self._pass_on(stream, self._streams[stream].feed(data))

    async def finish(self) -> None:
        """Pass on what was held back, and say what was dropped."""
        async with self._turn:
            for stream, masked in self._streams.items():
                await self._pass_on(stream, masked.finish())
                if self._dropped[stream]:
                    await self._reporter.dropped(stream, self._dropped[stream])

    async def _pass_on(self, stream: OutputStream, data: bytes) -> None:
        shown = data[: self._left]
        self._left -= len(shown)
        self._dropped[stream] += len(data) - len(shown)
        for start in range(0, len(shown), CHUNK_BYTES):
            await self._reporter.output(stream, shown[start : start + CHUNK_BYTES])
