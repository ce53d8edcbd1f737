"""From a finished command to the one line that announces it.

Never fails: a summary that cannot be made must not harm a run that has ended, so each format falls back to the
next best, at last to the exit code and the last lines. Reads no files and no clock; whoever calls passes the
content of the files that `wanted_files` names, only if they were written during the attempt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final

from ringback.summaries.formats import junit, regex
from ringback.summaries.registry import PARSERS, recognised
from ringback.summaries.sentence import Summary, told, told_without_counts
from ringback.summaries.spec import FILE_BYTES_MAX, Format, Spec, parse_spec, wanted_files
from ringback.summaries.tally import Tally
from ringback.summaries.text import clean_text

OUTPUT_CHARS_MAX: Final = 4 * 1024 * 1024
"""Only so much of the end of the output is looked at."""

_LINES_MAX: Final = 200_000
_PARTIAL: Final = "counted from the end of the output only"

_AUTO: Final = Spec(format=Format.AUTO)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending:
    """How an attempt ended: the lines that are not blank, and what is known beside them."""

    lines: Sequence[str]
    is_complete: bool
    exit_code: int | None
    files: Mapping[str, bytes]
    cwd: str

    def told(self, tally: Tally, *, note: str = "", lead: str = "") -> Summary:
        partial = _PARTIAL if tally.is_sum and not self.is_complete else ""
        noted = replace(tally, notes=[*tally.notes, *filter(None, [partial, note])])
        return told(noted, exit_code=self.exit_code, cwd=self.cwd, lead=lead)

    def told_without_counts(self, *notes: str) -> Summary:
        return told_without_counts(self.lines, exit_code=self.exit_code, notes=notes)


def summarize(
    spec: object,
    *,
    output: str | bytes,
    exit_code: int | None,
    files: Mapping[str, bytes],
    cwd: str = "",
    is_complete: bool = True,
) -> Summary:
    """The summary of one finished attempt.

    Takes up to half a second for the longest output that it looks at; a caller with an event loop calls it in a thread.

    Args:
        spec: a `Spec` or what `parse_spec` accepts; anything else counts as "auto".
        output: the end of what the command printed, raw or cleaned.
        exit_code: None if there was none or it is unknown; negative for a signal.
        files: path relative to the working folder to content, of the wanted files that are fresh.
        cwd: the working folder; absolute paths below it are told relative to it.
        is_complete: whether `output` is all that was printed; if not, counts that had to be added up say so.
    """
    checked = _checked(spec)
    lines = [line for line in clean_text(output[-OUTPUT_CHARS_MAX:]).split("\n") if line]
    is_whole = is_complete and len(output) <= OUTPUT_CHARS_MAX and len(lines) <= _LINES_MAX
    ending = _Ending(lines=lines[-_LINES_MAX:], is_complete=is_whole, exit_code=exit_code, files=files, cwd=cwd)
    match checked.format:
        case Format.EXIT:
            return ending.told_without_counts()
        case Format.JUNIT:
            return _from_report(checked.path, ending)
        case Format.REGEX:
            return _from_pattern(checked, ending)
        case _:
            return _from_output(checked.format, ending)


def _checked(spec: object) -> Spec:
    if isinstance(spec, Spec):
        return spec
    try:
        return parse_spec(spec)
    except ValueError:
        return _AUTO


def _from_pattern(spec: Spec, ending: _Ending) -> Summary:
    found = regex.parse(ending.lines, spec.pattern, spec.template) if spec.pattern is not None else None
    return ending.told(found.tally, lead=found.lead) if found is not None else ending.told_without_counts()


def _from_report(path: str, ending: _Ending) -> Summary:
    """The reports' tally; without one the output's, and it is said that the report was missing."""
    reports = [content for name, content in sorted(ending.files.items()) if name == path or fnmatchcase(name, path)]
    if (tally := _report(reports)) is not None:
        return ending.told(tally)
    note = "JUnit report unreadable" if reports else "no JUnit report"
    if (seen := recognised(ending.lines, exit_code=ending.exit_code)) is not None:
        return ending.told(seen, note=note)
    return ending.told_without_counts(note)


def _from_output(wanted: Format, ending: _Ending) -> Summary:
    """By the named parser, else by any, else from a report at a usual place, else by the exit code."""
    parser = PARSERS.get(wanted)
    tally = parser(ending.lines) if parser is not None else None
    if tally is None:
        tally = recognised(ending.lines, exit_code=ending.exit_code)
    usual = (ending.files[path] for path in wanted_files(_AUTO) if path in ending.files)
    while tally is None and (content := next(usual, None)) is not None:
        tally = _report([content])
    return ending.told(tally) if tally is not None else ending.told_without_counts()


def _report(contents: Sequence[bytes]) -> Tally | None:
    if not contents or any(len(content) > FILE_BYTES_MAX for content in contents):
        return None
    return junit.parse(contents)
