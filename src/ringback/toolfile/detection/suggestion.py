"""A tool that a repository seems to offer, before it has a final name and a place in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_NOT_IN_A_NAME: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One tool.

    Attributes:
        name: a valid tool name; detectors give a short one, `detect` makes it unique.
        kind: which detector found it, used to tell two tools of the same name apart.
        why: what was seen in the repository, in one sentence for people; never content of a script.
        choices: what else the owner may want, each one line.
        folder: where it runs, relative to the repository, with "/"; "." is the repository itself.
    """

    name: str
    kind: str
    description: str
    command: tuple[str | tuple[str, ...], ...]
    why: str
    choices: tuple[str, ...] = ()
    folder: str = "."
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    summary: str = "auto"
    timeout: str = "30m"


def tool_name(text: str) -> str:
    """The nearest valid tool name: `test:unit` is `test_unit`."""
    name = _NOT_IN_A_NAME.sub("_", text.lower()).strip("_")
    return (name if name[:1].isalpha() else f"run_{name}".strip("_"))[:64].rstrip("_")


def optional(description: str, kind: str = "string") -> dict[str, Any]:
    """An optional input."""
    return {"type": kind, "optional": True, "description": description}
