"""Where a caller's value may stand in a shell script, so that quoting it is enough.

A single-quoted value is inert only where the shell reads plain words. Inside quotes, here-documents, comments,
backquotes, `${…}` and arithmetic the same quotes mean something else, and the value would run as code. This scanner
follows the POSIX shell (XCU 2.2 Quoting, 2.3 Token Recognition) just far enough to know which `{name}` stand in plain
words. Only those are placeholders; all other braces belong to the shell and stay as they are (`{{` has no meaning
here, a backslash before the brace makes it literal). A script that it cannot follow is refused, unless it has nothing
that looks like a placeholder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from ringback.domain.command_template import (
    CommandTemplateError,
    Element,
    Piece,
    Placeholder,
    joined,
    refuse_unprintable,
)

WHERE: Final = "/command/shell"
NAME: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")

# Spans that are copied as they are. Each is deliberately narrow: what does not match is refused, never guessed.
_SINGLE: Final = r"'[^']*'"
_PLAIN_DOUBLE: Final = r'"[^"`$\\]*"'
_DOLLAR: Final = r"\$(?![({'\"])"
_INNER: Final = rf"\$\{{(?:[^{{}}'\"`\\$()]|{_DOLLAR})*\}}"
_PARAMETER: Final = rf"\$\{{(?:[^{{}}'\"`\\$()]|{_DOLLAR}|{_INNER})*\}}"
_ARITHMETIC: Final = r"\$\(\((?:[^()'\"`\\]|\([^()'\"`\\]*\))*\)\)"
_COMMAND: Final = rf"\$\((?!\()(?:[^()'\"`\\#<$]|<(?!<)|{_DOLLAR}|{_PARAMETER}|{_SINGLE}|{_PLAIN_DOUBLE})*\)"
_EXPANSION: Final = rf"{_PARAMETER}|{_ARITHMETIC}|{_COMMAND}"
_BACKQUOTED: Final = r"`[^`\\]*`"
_DOUBLE: Final = rf'"(?:[^"`$\\]|\\[\s\S]|{_DOLLAR}|\$(?=[\'"])|{_EXPANSION}|{_BACKQUOTED})*"'
_SPAN: Final = re.compile(rf"\\[\s\S]|{_SINGLE}|{_DOUBLE}|{_EXPANSION}|{_BACKQUOTED}")
_COMMENT: Final = re.compile(r"#[^\n]*")
_REDIRECTION: Final = re.compile(r"[<>][>&|]?")

_BLANKS: Final = " \t"
_SEPARATORS: Final = ";&|\n"
_KEYWORDS: Final = frozenset(["if", "then", "else", "elif", "while", "until", "do", "!", "{", "time"])
_EVALUATORS: Final = frozenset(["eval", "let", "[[", "trap", "alias", "declare", "typeset"])
_NAMERS: Final = frozenset(["export", "local", "readonly", "unset", "read"])
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word with placeholders, and the literal words before it in the same simple command."""

    element: Element
    before: tuple[str, ...]

    @property
    def prefix(self) -> str:
        """The literal text before the first placeholder, without quotes and without what expands to who knows what."""
        return re.sub(r"[$`].*", "", _bare(self.element.prefix), flags=re.DOTALL)


Token: TypeAlias = str | Word


@lru_cache(maxsize=64)
def shell_tokens(script: str) -> tuple[Token, ...]:
    """The script cut into literal text and words with placeholders.

    Raises:
        CommandTemplateError: a placeholder where a value could act, or a script that cannot be followed.
    """
    refuse_unprintable(script, WHERE)
    return _Scanner(script).tokens() if NAME.search(script) else (script,)


def _bare(text: str) -> str:
    return re.sub(r"['\"\\\n]", "", text)


def _refusal(rule: str) -> CommandTemplateError:
    return CommandTemplateError(WHERE, rule)


@dataclass(slots=True)
class _Scanner:
    """One walk over the script, from left to right.

    `before` holds the words of the present simple command, without keywords, assignments and redirections;
    `outer` holds those of the commands around it, one for each open parenthesis.
    """

    script: str
    at: int = 0
    word: list[Piece] = field(default_factory=list)
    is_in_word: bool = False
    is_target: bool = False  # the next word is the target of a redirection
    is_glued: bool = False  # the word began with a command substitution that was read apart
    before: list[str] = field(default_factory=list)
    outer: list[list[str]] = field(default_factory=list)
    out: list[Token] = field(default_factory=list)

    def tokens(self) -> tuple[Token, ...]:
        while self.at < len(self.script):
            self._step(self.script[self.at])
        self._end_word()
        if self.outer:
            raise _refusal("a parenthesis is not closed")
        return tuple(self.out)

    def _step(self, char: str) -> None:
        if char in _BLANKS:
            self._gap(char)
        elif char in "<>" or self.script.startswith("&>", self.at):
            self._redirection()
        elif char in _SEPARATORS:
            self._gap(char)
            self._new_command()
        elif char in "()":
            self._parenthesis(char)
        elif char == "#" and not self.is_in_word:
            self._gap(self._match(_COMMENT))
        elif name := NAME.match(self.script, self.at):
            self._placeholder(name[1])
            self.at = name.end()
        else:
            self._text(char)

    def _text(self, char: str) -> None:
        if self.script.startswith("\\\n", self.at) and not self.is_in_word:
            self._gap("\\\n")
        elif (span := _SPAN.match(self.script, self.at)) and not self._is_live(span[0]):
            self._add(span[0])
        elif char in "'\"`\\" or self.script.startswith(("${", "$((", "$'", '$"'), self.at):
            line = self.script.count("\n", 0, self.at) + 1
            raise _refusal(f"line {line}: quoting too intricate to be safe with placeholders; move it to a script file")
        else:
            self._add(char)

    def _is_live(self, span: str) -> bool:
        """Whether the span is a command substitution whose own words may hold placeholders: `x $(cat {path})`."""
        return span.startswith("$(") and not span.startswith("$((") and NAME.search(span) is not None

    def _add(self, raw: str) -> None:
        self.is_in_word = True
        self.word.append(raw)
        self.at += len(raw)

    def _placeholder(self, name: str) -> None:
        if self.is_target:
            raise _refusal(f"{{{name}}} is the target of a redirection: a caller never chooses such a path")
        if self.is_glued:
            raise _refusal(f"{{{name}}} stands directly behind a command substitution: put a blank between them")
        self.is_in_word = True
        self.word.append(Placeholder(name))

    def _gap(self, raw: str) -> None:
        self._end_word()
        self.out.append(raw)
        self.at += len(raw)

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.script, self.at)
        return match[0] if match else ""

    def _redirection(self) -> None:
        if self.script.startswith("<<", self.at):
            raise _refusal("a here-document cannot be used with placeholders; pass the text another way")
        if self.script.startswith("&>", self.at):
            raise _refusal("&> is read differently from shell to shell: write >FILE 2>&1")
        is_descriptor = not self.is_target and "".join(map(str, self.word)).isdigit()
        self._gap(self._match(_REDIRECTION))
        if is_descriptor and self.before:
            self.before.pop()
        self.is_target = True

    def _parenthesis(self, char: str) -> None:
        if self.script.startswith("((", self.at):
            raise _refusal("(( is read differently from shell to shell: put a blank between the parentheses")
        is_substitution = self.is_in_word and self.word[-1:] == ["$"]
        is_definition = self.script.startswith("()", self.at)
        if char == "(" and self.is_in_word and not is_substitution and not is_definition:
            raise _refusal(
                "a parenthesis directly behind a word is no POSIX shell (an array, a pattern): put it elsewhere"
            )
        self._gap(char)
        if char == "(":
            self.outer.append([*self.before, "$" if is_substitution else ""])
            self._new_command()
        elif self.outer:
            self.before = self.outer.pop()
            self.is_glued = self.is_in_word = self.before.pop() == "$"
        else:
            self._new_command()

    def _new_command(self) -> None:
        self.before.clear()
        self.is_target = False

    def _end_word(self) -> None:
        if not self.is_in_word:
            return
        element = Element(pieces=joined(self.word), where=WHERE)
        if element.names:
            self._check_place(element)
            self.out.append(Word(element=element, before=tuple(self.before)))
        else:
            self.out.append(element.literal or "")
        if not self.is_glued:  # else its first half was counted already
            self._count(element)
        self.word.clear()
        self.is_in_word = self.is_target = self.is_glued = False

    def _check_place(self, element: Element) -> None:
        shown = f"{{{element.names[0]}}}"
        is_led = not element.prefix
        if is_led and not self.before:
            raise _refusal(f"{shown} stands where the program is named: a caller never chooses it")
        if _EVALUATORS & set(self.before) or (self.before and self.before[0] in {".", "source"}):
            raise _refusal(f"{shown} is given to a command that evaluates its arguments as code")
        if is_led and self.before[0] in _NAMERS:
            raise _refusal(f"{shown} would choose the name of a variable")

    def _count(self, element: Element) -> None:
        if self.is_target:
            return
        is_prefix = element.literal in _KEYWORDS or _ASSIGNMENT.match(element.prefix)
        if self.before or not is_prefix:
            self.before.append("" if element.literal is None else _bare(element.literal))
