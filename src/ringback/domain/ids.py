"""Names of things. Every identifier is a string; a run has one id and two spellings.

The canonical spelling is the UUIDv7 itself; `job_` plus its base32hex digits is the spelling of the job facade. base32hex
keeps the order, so both spellings sort by creation. Whoever needs a new id gets it from outside: nothing here draws one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NewType

RunId = NewType("RunId", str)
AttemptId = NewType("AttemptId", str)
SessionId = NewType("SessionId", str)
ProjectId = NewType("ProjectId", str)
InteractionId = NewType("InteractionId", str)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_JOB = re.compile(r"job_([0-9a-v]{26})")
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_PAIRS = tuple(a + b for a in _DIGITS for b in _DIGITS)  # ten bits at a time: half the steps of one digit each


@lru_cache(maxsize=8192)
def job_id_of(run_id: RunId) -> str:
    """The job facade's spelling of `run_id`."""
    number = int(run_id.replace("-", ""), 16)
    return "job_" + "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])


@lru_cache(maxsize=8192)
def run_id_of(text: str) -> RunId | None:
    """The run that `text` names in any spelling, or None when it is no spelling of a run at all."""
    if found := _JOB.fullmatch(text):
        number = int(found[1], 32)
        if number >> 128:
            return None
        digits = f"{number:032x}"
        return RunId(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
    lowered = text.lower() if len(text) == 36 else text
    return RunId(lowered) if _UUID.fullmatch(lowered) else None
