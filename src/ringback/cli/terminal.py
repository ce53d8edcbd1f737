"""What a command prints. With `--json` stdout holds JSON and nothing else; colours appear on a terminal only.

Text that came from work or from other callers passes through `plain`, so it cannot move the cursor, change the
title, or start a line that looks like ours.
"""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ringback.client.errors import RefusedError, RingbackError, UnauthorizedError
from ringback.domain.notice_text import plain as plain
from ringback.settings.terminal import wants_colours

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
STATUS_STYLES = {"done": "green", "failed": "red", "cancelled": "yellow", "running": "cyan", "queued": "dim"}


class Terminal:
    """Where one command writes."""

    def __init__(self, *, json_mode: bool = False) -> None:
        """Colours need a terminal that has not been told `NO_COLOR` or `TERM=dumb`."""
        self.json_mode = json_mode
        self.is_interactive = sys.stdout.isatty() and not json_mode
        self._has_colours = self.is_interactive and wants_colours()

    def document(self, value: Any) -> None:
        """The one JSON document of this command."""
        print(json.dumps(value, ensure_ascii=False, indent=2 if self.is_wide else None, default=str), flush=True)

    def record(self, value: Any) -> None:
        """One line of JSON lines."""
        print(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str), flush=True)

    @property
    def is_wide(self) -> bool:
        """JSON is indented for people only."""
        return sys.stdout.isatty()

    def line(self, text: str = "") -> None:
        """One line for a person; nothing in JSON mode."""
        if not self.json_mode:
            print(text, flush=True)

    def note(self, text: str) -> None:
        """A remark on stderr, so that it never mixes with what is piped on."""
        print(text, file=sys.stderr, flush=True)

    def paint(self, text: str, style: str | None) -> str:
        """The text in a style, where there are colours."""
        code = _STYLES.get(style or "")
        return f"\x1b[{code}m{text}\x1b[0m" if code and self._has_colours else text

    def status(self, status: str) -> str:
        """A job's status in its colour."""
        return self.paint(plain(status), STATUS_STYLES.get(status))

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[str]], *, colours: int | None = None) -> None:
        """Columns as wide as needed, the last one cut to the terminal; `colours` is the column that holds a status."""
        cells = [[plain(cell) for cell in row] for row in rows]
        widths = [max(len(line[at]) for line in [list(heads), *cells]) for at in range(len(heads))]
        self.line(self.paint(_row(heads, widths), "bold"))
        for row in cells:
            text = _row(row, widths, self._room())
            if colours is not None:
                text = text.replace(row[colours], self.status(row[colours]), 1)
            self.line(text)

    def _room(self) -> int | None:
        return os.get_terminal_size().columns if self.is_interactive else None


def report(out: Terminal, message: str, *, code: str, error: RingbackError | None = None) -> None:
    """Say what went wrong: one line on stderr, or a JSON document on stdout."""
    if out.json_mode:
        facts: dict[str, Any] = {"code": code, "message": message, "retryable": bool(error and error.retryable)}
        if error is not None and error.request_id:
            facts["request_id"] = error.request_id
        if isinstance(error, RefusedError) and error.errors:
            facts["errors"] = [{"pointer": flaw.pointer, "detail": flaw.detail} for flaw in error.errors]
        out.record({"error": facts})
        return
    out.note(f"ringback: {plain(message)}")
    if isinstance(error, UnauthorizedError):
        out.note("Set RINGBACK_TOKEN, or name the data folder of a local server with --data.")


def _row(cells: Sequence[str], widths: Sequence[int], room: int | None = None) -> str:
    text = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
    return text if room is None or len(text) <= room else text[: room - 1] + "…"
