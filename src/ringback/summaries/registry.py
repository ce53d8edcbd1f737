"""Which parser belongs to which format, and which one may speak when nobody said.

For "auto" every parser reads the output and the one whose deciding line comes last is believed, because a script
that runs several runners ends with the last one. If that one saw no failure although the exit code tells of one,
the last that did see a failure is believed instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ringback.summaries.formats import cargo, go, jest, pytest, tap, unittest, vitest
from ringback.summaries.spec import Format
from ringback.summaries.tally import Parser, Tally

PARSERS: Final[Mapping[Format, Parser]] = {
    Format.PYTEST: pytest.parse,
    Format.UNITTEST: unittest.parse,
    Format.JEST: jest.parse,
    Format.VITEST: vitest.parse,
    Format.GO: go.parse,
    Format.CARGO: cargo.parse,
    Format.TAP: tap.parse,
}


def recognised(lines: Sequence[str], *, exit_code: int | None) -> Tally | None:
    found = [tally for parser in PARSERS.values() if (tally := parser(lines)) is not None]
    found.sort(key=lambda tally: tally.at)
    if not found:
        return None
    if exit_code and not found[-1].has_failures:
        return next((tally for tally in reversed(found) if tally.has_failures), found[-1])
    return found[-1]
