"""Writes a file that belongs to somebody else: whole or not at all, with what it held before beside it."""

import os
import shutil
from pathlib import Path

from ringback.hosts.errors import HostFileError
from ringback.hosts.known import Change

BACKUP = ".before-ringback"


def planned(change: Change) -> tuple[str, str]:
    """What the file holds, and what it would.

    Raises:
        HostFileError: it can't be read or changed safely.
    """
    try:
        before = change.path.read_bytes().decode() if change.path.exists() else ""
        return before, change.edit(before)
    except UnicodeDecodeError:
        raise HostFileError(f"{change.path}: it is no text") from None
    except OSError as error:
        raise HostFileError(f"{change.path}: {error.strerror}") from None
    except HostFileError as error:
        raise HostFileError(f"{change.path}: {error}") from None


def carry_out(change: Change) -> bool:
    """Change the file, unless it is as it should be; whether it was changed. A link stays a link, a mode stays as it was.

    Raises:
        HostFileError: it is read-only, was changed by somebody else meanwhile, or can't be written; it stays as it was.
    """
    before, after = planned(change)
    if before == after:
        return False
    place = change.path.resolve()
    try:
        if place.exists() and not place.stat().st_mode & 0o200:
            raise HostFileError(f"{place}: it is read-only")
        place.parent.mkdir(parents=True, exist_ok=True)
        _replace(place, before.encode(), after.encode())
    except OSError as error:
        raise HostFileError(f"{place}: {error.strerror}") from None
    return True


def _replace(place: Path, before: bytes, after: bytes) -> None:
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o600
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - of a descriptor
            file.write(after)
            file.flush()
            os.fsync(descriptor)
        if place.exists():
            if place.read_bytes() != before:
                raise HostFileError(f"{place}: somebody else is changing it; try again")
            shutil.copy2(place, place.with_name(place.name + BACKUP))
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
