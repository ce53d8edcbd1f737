"""Where async tools run: one event loop that stays, watching the control socket while it turns.

What an attempt leaves on the loop is ended with it: tasks are cancelled, and the threads of `asyncio.to_thread` are
let go. Imported only when an application has async tools.
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from .line import Line

_TASKS_END_WITHIN_S: Final = 1.0


class AsyncStage:
    """Runs one coroutine at a time."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._loop = asyncio.new_event_loop()
        self._loop.add_reader(line.fileno(), line.poll)
        self._renew_threads()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run it to its end; a stop cancels its task."""
        loop = self._loop
        task = loop.create_task(work)
        self._line.on_cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self._line.why is not None:
            task.cancel()
        return loop.run_until_complete(task)

    def run_generator(self, work: AsyncGenerator[Any, Any]) -> None:
        """Run it to its end; what it yields are page items."""
        self.run(_deliver(work, self._line))

    def tidy(self, *, has_threads: bool) -> str:
        """End what is left; why the loop can't be used again, empty when it can."""
        if has_threads:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._renew_threads()
        left = asyncio.all_tasks(self._loop)
        if not left:
            return ""
        for task in left:
            task.cancel()
        _, stubborn = self._loop.run_until_complete(asyncio.wait(left, timeout=_TASKS_END_WITHIN_S))
        return f"{len(stubborn)} tasks ignored their cancellation" if stubborn else ""

    def _renew_threads(self) -> None:
        self._threads = ThreadPoolExecutor(thread_name_prefix="asyncio")
        self._loop.set_default_executor(self._threads)


async def _deliver(work: AsyncGenerator[Any, Any], line: Line) -> None:
    try:
        async for item in work:
            line.page([item])
            await asyncio.sleep(0)
    finally:
        await work.aclose()
