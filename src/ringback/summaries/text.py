"""Terminal output turned into plain text: one pass, linear, nothing but `\\n` and `\\t` left of the controls.

Both the readable view of a run's output and the summaries read work through this module; the raw bytes
stay where they are. A line that was redrawn with carriage returns keeps its last state only, so ten
thousand updates of a progress bar become one line. The screen is not emulated: cursor movements are
dropped, not obeyed, and an unfinished control string ends with its line, so that it cannot hide the rest.
"""

from __future__ import annotations

import re
from typing import Final

# Possessive repeats and disjoint classes keep every alternative linear.
_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"  # CSI: colours, cursor, erase
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*+(?:\x07|\x9c|\x1b\\)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*+[0-~]?"  # every other escape, a lone ESC included
)
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_SPECIAL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean_text(raw: bytes | str) -> str:
    """What a person would read of `raw`.

    Args:
        raw: output of a program; bytes are read as UTF-8.

    Returns:
        The text without escape sequences and control characters other than `\\n` and `\\t`; undecodable
        bytes and lone surrogates are U+FFFD. Cleaning twice changes nothing.
    """
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    if _SPECIAL.search(text) is None:
        return text
    if "\x1b" in text or not text.isascii():
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        text = "\n".join([_last_state(line) if "\r" in line else line for line in text.split("\n")])
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def _last_state(line: str) -> str:
    """What stands on the line after its last redrawing; a closing carriage return draws nothing."""
    return line.rstrip("\r").rpartition("\r")[2]
