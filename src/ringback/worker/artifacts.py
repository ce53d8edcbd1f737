"""The report files that a summary wants to read, if the command wrote them just now.

A file counts only when it lies inside the working folder after every symbolic link was followed, is a plain file, is not
too large, and was changed after the attempt began: a report of yesterday must not speak for today's run.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ringback.summaries import FILE_BYTES_MAX, parse_spec, wanted_files

MATCHES_MAX: Final = 50
CLOCK_GRAIN_NS: Final = 10_000_000  # files carry the kernel's coarse clock, which may lag behind by a tick


def fresh_files(spec: Any, folder: str, began_ns: int) -> dict[str, bytes]:
    """The wanted files with their content, by their path relative to the folder.

    Args:
        spec: a summary setting as `parse_spec` takes it; an unknown one wants nothing.
        folder: the command's working folder.
        began_ns: when the attempt began, in nanoseconds since 1970.
    """
    try:
        patterns = wanted_files(parse_spec(spec))
    except ValueError:
        return {}
    found: dict[str, bytes] = {}
    root = Path(folder)
    for pattern in patterns:
        for path in _matches(root, pattern):
            content = _read(root, path, began_ns - CLOCK_GRAIN_NS)
            if content is not None:
                found[str(path.relative_to(root))] = content
    return found


def _matches(root: Path, pattern: str) -> Iterator[Path]:
    if not any(mark in pattern for mark in "*?["):
        yield root / pattern
        return
    for _, path in zip(range(MATCHES_MAX), root.glob(pattern), strict=False):
        yield path


def _read(root: Path, path: Path, since_ns: int) -> bytes | None:
    try:
        facts = path.stat()
        is_wanted = stat.S_ISREG(facts.st_mode) and facts.st_mtime_ns >= since_ns and facts.st_size <= FILE_BYTES_MAX
        real = path.resolve(strict=True)
        if not is_wanted or not real.is_relative_to(root.resolve(strict=True)):
            return None
        descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(FILE_BYTES_MAX)
    except OSError:
        return None
