"""What work wrote, for people: whole lines, each stream by itself, without terminal control and with redrawn lines settled.

Bytes are cut at line ends only, so a character is never read in halves; a line that grows too long is shown in pieces.
"""

from collections.abc import Callable

from ringback.summaries.text import clean_text

LINE_BYTES_MAX = 64 * 1024


class Reader:
    """Feed it the bytes of any streams in any pieces; it writes readable lines."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """`write` takes text that ends with a line end, except perhaps the very last."""
        self._write = write
        self._rests: dict[str, bytes] = {}

    def feed(self, stream: str, piece: bytes) -> None:
        """Take what a stream brought."""
        whole = self._rests.pop(stream, b"") + piece
        lines, separator, rest = whole.rpartition(b"\n")
        if separator:
            self._write(clean_text(lines + separator))
        if len(rest) > LINE_BYTES_MAX:
            self._write(clean_text(rest))
        elif rest:
            self._rests[stream] = rest

    def end(self) -> None:
        """Show the lines that never ended."""
        for rest in self._rests.values():
            self._write(clean_text(rest) + "\n")
        self._rests = {}
