"""Two hundred sessions on one worker, each with a server process of its own."""

import asyncio

from tests.hosted.calling import calling, text_of
from tests.hosted.servers import tiny
from tests.worker.attempts import is_alive

COUNT = 200


async def test_two_hundred_sessions_at_a_time() -> None:
    async with calling() as call:
        first = await asyncio.gather(*(call(tiny(roots=[f"file:///{n}"]), "pid") for n in range(COUNT)))
        pids = [int(text_of(outcome)) for outcome in first]
        assert len(set(pids)) == COUNT
        assert all(map(is_alive, pids))
        again = await asyncio.gather(*(call(tiny(roots=[f"file:///{n}"]), "pid") for n in range(COUNT)))
        assert [int(text_of(outcome)) for outcome in again] == pids
    assert not any(map(is_alive, pids))
