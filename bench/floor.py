"""What the machine itself asks for: a bare round trip to another process, busy or idle, and one flush of the disk.

On a virtual machine an idle processor may take milliseconds to wake up, and every hop of a request to an idle installation pays
for it. So these floors stand beside our latencies, taken in the same run.
"""

import os
import socket
import tempfile
import time

from bench.figure import percentile


class Echo:
    """A forked process that sends back what it gets."""

    def __init__(self) -> None:
        self._near, far = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            self._near.close()
            while data := far.recv(64):
                far.sendall(data)
            os._exit(0)
        far.close()

    def close(self) -> None:
        self._near.close()
        os.waitpid(self._pid, 0)

    def round_trip_ms(self) -> float:
        began = time.perf_counter()
        self._near.sendall(b"x")
        self._near.recv(1)
        return (time.perf_counter() - began) * 1e3


def round_trips_ms(count: int, *, idle_s: float) -> float:
    """The median of bare round trips, each after `idle_s` seconds of idleness."""
    echo = Echo()
    found = []
    for _ in range(count):
        time.sleep(idle_s)
        found.append(echo.round_trip_ms())
    echo.close()
    return percentile(found, 0.5)


def flush_ms(count: int = 200) -> float:
    """The median of flushing 56 kB that were appended to a file, which is what a small transaction of the ledger writes."""
    found = []
    with tempfile.NamedTemporaryFile(prefix="ringback-floor-") as file:
        for _ in range(count):
            file.write(b"x" * 56 * 1024)
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            found.append((time.perf_counter() - began) * 1e3)
    return percentile(found, 0.5)
