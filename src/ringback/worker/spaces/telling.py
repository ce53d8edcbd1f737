"""Tells the server how spaces live, apart from the reports of their attempts: a lost attempt is silent, its space still goes.

Steps travel in a lane of their own, in order. That a space is put down is waited for; what comes between is told once; its end is
told until the server has it, in the next session if need be.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from ringback.worker.backoff import Backoff
from ringback.worker.batching import Outbox
from ringback.worker.messages import Key, Result, report
from ringback.worker.settlement import RETRY_CODES
from ringback.worker.spaces.records import Record

AGAIN: Final = RETRY_CODES | {"session_expired"}
TAKEN_BACK_WITHIN_S: Final = 180.0


class Telling:
    """The steps of all spaces of this worker."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._ends: set[asyncio.Task[None]] = set()

    async def put_down(self, record: Record, step: Mapping[str, Any]) -> bool:
        """The first step; whether the attempt may have the space."""
        backoff = Backoff()
        while True:
            result = await self._post(record, step)
            if result.code not in RETRY_CODES:
                return result.ok
            await asyncio.sleep(backoff.wait_s())

    def goes_on(self, record: Record, step: Mapping[str, Any]) -> None:
        """A step between the first and the last."""
        self._outbox.note(_lane(record), _body(record, step))

    def ends(self, record: Record, step: Mapping[str, Any], *, is_found: bool = False) -> None:
        """The last step. A space that was found is another session's until the ledger has taken it back."""
        task = asyncio.get_running_loop().create_task(self._tell_end(record, step, is_found=is_found))
        self._ends.add(task)
        task.add_done_callback(self._ends.discard)

    async def aclose(self) -> None:
        """Tell nothing more."""
        for task in self._ends:
            task.cancel()
        await asyncio.gather(*self._ends, return_exceptions=True)

    async def _tell_end(self, record: Record, step: Mapping[str, Any], *, is_found: bool) -> None:
        loop, backoff = asyncio.get_running_loop(), Backoff()
        give_up_at = loop.time() + TAKEN_BACK_WITHIN_S
        while True:
            result = await self._post(record, step)
            is_early = is_found and result.code == "stale_fence" and loop.time() < give_up_at
            if result.code not in AGAIN and not is_early:
                return
            await asyncio.sleep(backoff.wait_s())

    async def _post(self, record: Record, step: Mapping[str, Any]) -> Result:
        return await self._outbox.post(_lane(record), _body(record, step))


def _lane(record: Record) -> Key:
    """Not the attempt's own lane, which is muted when the attempt is lost."""
    return Key(record.run_id, -record.fence)


def _body(record: Record, step: Mapping[str, Any]) -> bytes:
    return report(Key(record.run_id, record.fence), "space", {"space": step})
