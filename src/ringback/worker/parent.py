"""The end of a process that this worker was started for, noticed without asking again and again."""

import asyncio
import os


async def ended(pid: int) -> None:
    """Return when the process is gone; at once when it is gone already."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
