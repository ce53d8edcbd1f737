"""Regular expressions that users bring, made safe to run on output that nobody vouches for.

Python's engine backtracks, cannot be interrupted and holds the interpreter while it does, so a pattern is
refused at definition time unless its cost stays polynomial: no repeated group that itself repeats or chooses,
no back-references, few repeats whose end is open. A repeat is *guarded* when what follows cannot be matched by
what it repeats (`\\d+ passed`): only one end is possible and backtracking finds nothing. The rest, the degree,
decides how long a line may be and how many lines fit the budget, so the whole search ends within a second or two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

PATTERN_MAX: Final = 500
TAIL_CHARS: Final = 256 * 1024

_LINE_STEPS: Final = 20_000_000
_ALL_STEPS: Final = 60_000_000
_LINE_CHARS: Final = 2000
_DEGREE_MAX: Final = 4
_CHOICES_MAX: Final = 8
_SAMPLE: Final = "".join(map(chr, range(0x180)))
_PLAIN_GROUPS: Final = frozenset({"(", "(?:", "(?>"})
_TOKEN: Final = re.compile(
    r"(?P<set>\[\^?\]?(?:\\.|[^\]\\])*+\])"
    r"|(?P<refused>\\[1-9]|\(\?P=|\(\?\(|\(\?\#|\(\?[a-zA-Z]*x)"
    r"|(?P<anchor>\\[AbBZ]|\^|\$)"
    r"|(?P<flags>\(\?[a-zA-Z]+\))"
    r"|(?P<open>\((?:\?(?:P<\w+>|<?[=!]|>|[a-zA-Z-]*:))?)"
    r"|(?P<close>\))|(?P<alt>\|)"
    r"|(?P<repeat>(?:[*+?]|\{(?:\d+,?\d*|,\d*)\})[?+]?)"
    r"|(?P<item>\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|N\{[^}]*\}|0[0-7]{0,2}|.)|.)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    source: str
    least: int = 1
    most: int | None = 1
    is_possessive: bool = False

    @property
    def is_open_ended(self) -> bool:
        return self.kind == "repeat" and self.least != self.most and not self.is_possessive


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePattern:
    """A checked regular expression that is searched for in single lines.

    Attributes:
        degree: the exponent of the cost of one search in the length of the line.
        choices: how often the cost may double on top of it.
    """

    source: str
    compiled: re.Pattern[str]
    degree: int
    choices: int

    @property
    def groups(self) -> frozenset[str]:
        return frozenset(self.compiled.groupindex)

    @staticmethod
    def checked(source: str) -> LinePattern:
        """Compiles `source`; raises ValueError that names the broken rule."""
        return _checked(source)

    def matches(self, lines: Sequence[str]) -> Iterator[re.Match[str]]:
        """Matches from the last line to the first, until the budget of steps or characters is spent."""
        steps, room = _ALL_STEPS, TAIL_CHARS
        for line in reversed(lines):
            part = line[: self.line_max]
            steps -= self._steps(len(part))
            room -= len(part) + 1
            if steps < 0 or room < 0:
                return
            if match := self.compiled.search(part):
                yield match

    @property
    def line_max(self) -> int:
        """Characters of a line that are looked at."""
        each = (_LINE_STEPS >> self.choices) * math.factorial(self.degree)
        return min(_LINE_CHARS, int(each ** (1 / self.degree)))

    def _steps(self, length: int) -> int:
        return (int(math.pow(length, self.degree)) // math.factorial(self.degree) << self.choices) + 1


@lru_cache(maxsize=64)
def _checked(source: str) -> LinePattern:
    if not source or len(source) > PATTERN_MAX:
        raise ValueError(f"summary regex must be 1 to {PATTERN_MAX} characters")
    try:
        compiled = re.compile(source)
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:
        raise ValueError(f"summary regex does not compile: {error}") from error
    tokens = _tokens(source)
    _refuse_nested(tokens)
    starts_anchored = tokens[0].kind == "anchor" and "|" not in source
    ignore_case = compiled.flags & re.IGNORECASE
    loose = [i for i, token in enumerate(tokens) if token.is_open_ended and not _is_guarded(tokens, i, ignore_case)]
    repeats = sum(1 for i in loose if tokens[i].most != 1)
    degree = repeats + (1 if starts_anchored else 2)
    choices = len(loose) - repeats + sum(1 for token in tokens if token.kind == "alt")
    if degree > _DEGREE_MAX or choices > _CHOICES_MAX:
        raise ValueError(
            "summary regex could take too long: at most two repeats may have an open end; "
            "follow a repeat by something that it cannot match, as in [^,]*, or make it possessive, as in .*+"
        )
    return LinePattern(source=source, compiled=compiled, degree=degree, choices=choices)


def _tokens(source: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(source):
        kind, text = str(match.lastgroup), match[0]
        if kind == "refused":
            raise ValueError(f"summary regex must not use {text!r} (back-references, conditions, verbose mode)")
        if kind == "repeat":
            tokens.append(_repeat(text))
        elif kind != "flags":
            tokens.append(_Token("item" if kind == "set" else kind, text))
    return tokens or [_Token("item", source)]


def _repeat(text: str) -> _Token:
    is_possessive = len(text) > 1 and text.endswith("+")
    if text[0] != "{":
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[text[0]]
        return _Token("repeat", text, least, most, is_possessive)
    low, comma, high = text[1 : text.index("}")].partition(",")
    exact = int(low or 0)
    return _Token("repeat", text, exact, (int(high) if high else None) if comma else exact, is_possessive)


def _refuse_nested(tokens: Sequence[_Token]) -> None:
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind == "open":
            opened.append(index)
        elif token.kind == "close":
            start = opened.pop()
            after = tokens[index + 1] if index + 1 < len(tokens) else None
            if after is None or after.kind != "repeat" or after.most == 1:
                continue
            if any(inner.kind == "alt" or inner.is_open_ended for inner in tokens[start:index]):
                raise ValueError("summary regex must not repeat a group that itself repeats or has alternatives")


def _is_guarded(tokens: Sequence[_Token], index: int, flags: int) -> bool:
    """Whether the repeat at `index` can end in one place only, or is never asked to end elsewhere."""
    target, position = tokens[index - 1], _follower(tokens, index)
    while position is not None:
        if position == len(tokens) or tokens[position].source == "$":
            return True
        follower = tokens[position]
        if target.kind != "item" or follower.kind != "item":
            return False
        if not _characters(target.source, flags).isdisjoint(_characters(follower.source, flags)):
            return False
        if position + 1 == len(tokens) or tokens[position + 1].least > 0:
            return True
        position = _follower(tokens, position + 1)
    return False


def _follower(tokens: Sequence[_Token], index: int) -> int | None:
    """Where the token stands that must match next after `index`; the length if none must, None if it is unclear."""
    depth = sum((token.kind == "open") - (token.kind == "close") for token in tokens[:index])
    for position in range(index + 1, len(tokens)):
        token = tokens[position]
        match token.kind:
            case "close":
                depth -= 1
            case "open" if token.source in _PLAIN_GROUPS or token.source.startswith("(?P<"):
                depth += 1
                if any(later.kind == "alt" for later in tokens[position:]):
                    return None
            case "alt" if depth == 0:
                return len(tokens)
            case "open" | "alt" | "repeat":
                return None
            case _:
                return position
    return len(tokens)


@lru_cache(maxsize=256)
def _characters(item: str, flags: int) -> frozenset[str]:
    return frozenset(re.findall(item, _SAMPLE, flags))
