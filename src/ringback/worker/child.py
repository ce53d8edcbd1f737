"""`python -m ringback.worker.child MODULE:APP`: a warm interpreter, the only place where user code runs.

Started by the worker through its guardian, with a control socket in RINGBACK_CONTROL_FD and pipes as stdout and stderr.
It loads the application, tells which tools are in it, and carries out one attempt after the other. Standard output is
never a protocol here: what the application, a library, C code or a subprocess prints is output of the attempt.
"""

import ctypes
import faulthandler
import gc
import importlib
import io
import os
import socket
import sys
from collections.abc import Callable
from typing import Final, TextIO

from . import wire
from .app import App
from .failures import MESSAGE_MAX, trace_of
from .jsonable import clean, to_json
from .line import Line
from .residue import Residue
from .stage import Stage

CONTROL_VARIABLE: Final = "RINGBACK_CONTROL_FD"
ATTEMPTS_MAX_DEFAULT: Final = 50_000
GROWTH_MAX_BYTES_DEFAULT: Final = 256 * 1024 * 1024
_UNLOADABLE: Final = 3


class AppNotFoundError(Exception):
    """The target names no application."""


def load(target: str) -> App:
    """Import the application that `module:attribute` names.

    Raises:
        AppNotFoundError: the target is malformed, or what it names is no `App`.
        Exception: whatever importing the module raises.
    """
    module_name, _, attribute = target.partition(":")
    if not module_name or not attribute:
        raise AppNotFoundError(f"{target!r}: expected module:app")
    if "" not in sys.path:
        sys.path.insert(0, "")
    found: object = importlib.import_module(module_name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise AppNotFoundError(f"{target!r}: there is no {part!r}")
        found = getattr(found, part)
    if not isinstance(found, App):
        raise AppNotFoundError(f"{target!r} is {type(found).__name__}, not a ringback.App")
    return found


def output_flusher() -> Callable[[], None]:
    """Let output leave line by line; returns what flushes the rest of it and undoes redirections of `sys.stdout`."""
    streams = (sys.stdout, sys.stderr)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    libc = ctypes.CDLL(None)
    c_stdout = ctypes.c_void_p.in_dll(libc, "stdout")
    flush_c = libc.fflush

    def flush() -> None:
        if sys.stdout is not streams[0]:
            _flush(sys.stdout)
            sys.stdout = streams[0]
        if sys.stderr is not streams[1]:
            _flush(sys.stderr)
            sys.stderr = streams[1]
        for stream in streams:
            _flush(stream)
        flush_c(c_stdout)

    return flush


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except Exception:  # noqa: BLE001 - closed, or replaced by something foreign
        return


def main(load: Callable[[str], App] = load) -> int:
    """Load, then serve until the worker says to leave; `load` makes the application out of the target."""
    target = sys.argv[1]
    del sys.argv[1:]
    line = Line(socket.socket(fileno=int(os.environ.pop(CONTROL_VARIABLE))))
    os.set_inheritable(line.fileno(), False)
    faulthandler.enable()
    flush = output_flusher()
    try:
        app = load(target)
        definitions = to_json(app.definitions(target))
    except BaseException as error:  # noqa: BLE001 - importing runs any code
        flush()
        line.send(wire.Broken(clean(_reason(error), MESSAGE_MAX), trace_of(error)))
        return _UNLOADABLE
    gc.collect()
    gc.freeze()
    flush()
    line.send(wire.Ready(definitions))
    stage = Stage(app, line, _residue(), flush)
    while (run := line.next_run()) is not None:
        line.finish(stage.carry_out(run))
    return 0


def _reason(error: BaseException) -> str:
    text = str(error)
    return text if isinstance(error, AppNotFoundError) else f"{type(error).__name__}: {text}"


def _residue() -> Residue:
    return Residue(
        attempts_max=int(os.environ.get("RINGBACK_CHILD_ATTEMPTS", ATTEMPTS_MAX_DEFAULT)),
        growth_max_bytes=int(os.environ.get("RINGBACK_CHILD_GROWTH_BYTES", GROWTH_MAX_BYTES_DEFAULT)),
    )


if __name__ == "__main__":
    sys.exit(main())
