"""What a tool's `summary` setting may say, and its checked form.

The tools file and the server both check with `parse_spec`, so a mistake is told when a tool is applied and
not when its first run ends. A JUnit path must stay inside the working folder of the command.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ringback.summaries.patterns import LinePattern

FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""The worker reads no more of a wanted file; a larger one counts as unreadable."""

_PATH_MAX: Final = 500
_TEMPLATE_MAX: Final = 300
# Where runners are usually told to write; looked at only if the output itself tells nothing.
_USUAL_REPORTS: Final = ("junit.xml", "report.xml", "test-results.xml", "test-results/junit.xml", "reports/junit.xml")


class Format(StrEnum):
    AUTO = "auto"
    PYTEST = "pytest"
    UNITTEST = "unittest"
    JEST = "jest"
    VITEST = "vitest"
    GO = "go"
    CARGO = "cargo"
    TAP = "tap"
    EXIT = "exit"
    JUNIT = "junit"
    REGEX = "regex"


_NEED_MORE: Final = frozenset({Format.JUNIT, Format.REGEX})
_NAMES: Final = ", ".join(item.value for item in Format if item not in _NEED_MORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A checked summary setting.

    Attributes:
        path: of the JUnit report, relative to the command's working folder; may hold `*`, `?` and `[…]`,
            which whoever reads the files expands.
        pattern: of a `regex` summary.
        template: sentence with `{group}` placeholders in place of the counts; "" for none.
    """

    format: Format
    path: str = ""
    pattern: LinePattern | None = None
    template: str = ""

    def as_json(self) -> str | dict[str, str]:
        """The canonical form of the setting; parsing it again gives an equal spec."""
        if self.pattern is not None:
            return {"regex": self.pattern.source} | ({"template": self.template} if self.template else {})
        return f"junit:{self.path}" if self.format is Format.JUNIT else self.format.value


def parse_spec(value: object) -> Spec:
    """Checks a summary setting.

    Args:
        value: a format's name, `junit:PATH`, `{"junit": PATH}` or `{"regex": …, "template"?: …}`; None is `auto`.

    Raises:
        ValueError: the message names the rule that `value` breaks.
    """
    match value:
        case None:
            return Spec(format=Format.AUTO)
        case str():
            return _named(value)
        case Mapping():
            return _detailed(value)
        case _:
            raise ValueError(f"summary must be text or an object, not {type(value).__name__}")


def wanted_files(spec: Spec) -> tuple[str, ...]:
    """Files that the summary would read, relative to the command's working folder; may hold wildcards.

    The caller reads at most `FILE_BYTES_MAX` of each and passes only files changed after the attempt started:
    whether a report is stale cannot be told from its content.
    """
    if spec.format is Format.JUNIT:
        return (spec.path,)
    return _USUAL_REPORTS if spec.format is Format.AUTO else ()


def _named(value: str) -> Spec:
    if value.startswith("junit:"):
        return _junit(value.removeprefix("junit:"))
    if value in _NEED_MORE:
        raise ValueError(f'summary "{value}" needs more: write "junit:PATH" or {{"regex": "…"}}')
    if value not in set(Format):
        raise ValueError(f"summary {value[:40]!r} is unknown; known are {_NAMES}, junit:PATH and {{regex}}")
    return Spec(format=Format(value))


def _detailed(value: Mapping[object, object]) -> Spec:
    match dict(value):
        case {"junit": str(path), **rest} if not rest:
            return _junit(path)
        case {"regex": str(source), **rest} if not rest:
            return Spec(format=Format.REGEX, pattern=LinePattern.checked(source))
        case {"regex": str(source), "template": str(template), **rest} if not rest:
            pattern = LinePattern.checked(source)
            return Spec(format=Format.REGEX, pattern=pattern, template=_template(template, pattern))
        case _:
            raise ValueError('summary object must be {"junit": PATH} or {"regex": TEXT, "template"?: TEXT}, all text')


def _junit(path: str) -> Spec:
    if not path or len(path) > _PATH_MAX or not path.isprintable():
        raise ValueError(f"summary junit path must be 1 to {_PATH_MAX} printable characters")
    parts = path.replace("\\", "/").split("/")
    if not parts[0] or parts[0].endswith(":") or ".." in parts:
        raise ValueError("summary junit path must be relative to the tool's folder, without '..'")
    return Spec(format=Format.JUNIT, path=path.removeprefix("./"))


def _template(template: str, pattern: LinePattern) -> str:
    if not template.strip() or len(template) > _TEMPLATE_MAX:
        raise ValueError(f"summary template must be 1 to {_TEMPLATE_MAX} characters")
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"summary template is malformed: {error}") from error
    for _, name, format_spec, conversion in fields:
        if name is not None and (name not in pattern.groups or format_spec or conversion):
            raise ValueError(f"summary template: {{{name}}} must be a plain named group of the regex")
    return template
