"""How a child process of `ringback up` notices that its parent is gone: the pipe on its stdin ends.

A parent that was killed cannot tell its children; the system closes its pipes for it. What a child does then is a crash,
not a drain: the ledger survives that, and the port and the folder are free for the next start at once.
"""

import os
import sys
import threading

ORPHANED = 70


def die_with_parent() -> None:
    """From now on this process ends when its stdin does."""
    threading.Thread(target=_watch, name="lifeline", daemon=True).start()


def _watch() -> None:
    fd = sys.stdin.fileno()
    while os.read(fd, 4096):
        pass
    os._exit(ORPHANED)
