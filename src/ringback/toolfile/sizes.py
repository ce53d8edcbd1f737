"""Amounts of memory as people write them: "16MiB", "2GB", or a plain number of bytes."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"": 1, "B": 1, "K": 1024, "KIB": 1024, "KB": 1000, "M": 1024**2, "MIB": 1024**2, "MB": 1000**2}
_UNITS_LARGE: Final = {"G": 1024**3, "GIB": 1024**3, "GB": 1000**3, "T": 1024**4, "TIB": 1024**4, "TB": 1000**4}
_TEXT: Final = re.compile(r"([0-9]{1,15}) ?([A-Za-z]{0,3})")
LARGEST_BYTES: Final = 2**53


def parse_size(value: object) -> int:
    """The number of bytes.

    Raises:
        ValueError: not a size, not positive, or beyond what JSON keeps exactly.
    """
    match = _TEXT.fullmatch(value) if isinstance(value, str) else None
    factor = (_UNITS | _UNITS_LARGE).get(match[2].upper()) if match else None
    if match and factor:
        size = int(match[1]) * factor
    elif isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        raise ValueError('a number of bytes, or text such as "16MiB", "2GB", "512K"')
    if not 0 < size <= LARGEST_BYTES:
        raise ValueError("a size is at least one byte, and at most 8 PiB")
    return size
