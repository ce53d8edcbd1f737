"""What is wrong with a file of tools: all of it at once, each with its place and the rule that it breaks.

ToolFileError (a ValueError)      `problems`, in the order of the file
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from ringback.toolfile.positions import Positions


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One broken rule.

    Attributes:
        table: dotted name, for example `tools.test.input`; "" is the top of the file, or a file that is no TOML.
        key: within the table; "" is the table itself.
        nearest: the known key that an unknown one resembles most.
        line: from 1; None if the place is not in the file (a missing key).
        column: from 1; known for syntax errors only.
    """

    file: str
    table: str
    key: str
    rule: str
    nearest: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        subject = " ".join(part for part in (f"[{self.table}]" if self.table else "", self.key) if part)
        hint = f"; the nearest known key is `{self.nearest}`" if self.nearest else ""
        return f"{place}: {subject + ': ' if subject else ''}{self.rule}{hint}"


class ToolFileError(ValueError):
    """The file cannot be used. Its text has one line for each problem."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


@dataclass(slots=True, kw_only=True)
class Findings:
    """Collects problems while a file is read, so that one reading tells everything."""

    file: str
    positions: Positions
    problems: list[Problem] = field(default_factory=list)

    def add(self, table: tuple[str, ...], key: str, rule: str, *, nearest: str | None = None) -> None:
        self.problems.append(
            Problem(
                file=self.file,
                table=".".join(table),
                key=key,
                rule=rule,
                nearest=nearest,
                line=self.positions.line_of(table, key),
            )
        )

    def refuse_unknown(self, table: tuple[str, ...], keys: Iterable[str], known: Iterable[str]) -> None:
        """Add a problem for every key that nobody reads."""
        names = sorted(known)
        for key in keys:
            if key not in names:
                near = get_close_matches(key.lower().replace("-", "_"), names, n=1, cutoff=0.0)
                self.add(table, key, "unknown key", nearest=near[0] if near else None)

    def raise_any(self) -> None:
        """Raise if anything was found.

        Raises:
            ToolFileError: all of it, sorted by line.
        """
        if self.problems:
            raise ToolFileError(sorted(self.problems, key=lambda problem: problem.line or 0))
