"""Short ways to read a file of tools in tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ringback.toolfile import Problem, ToolFileError, parse

FILE = Path("/repo/ringback.toml")


def tool(text: str, *, command: str = 'command = ["x"]') -> dict[str, Any]:
    """The definition of a tool `t` with these lines; a command is added."""
    (definition,) = parse(f"[tools.t]\n{command}\n{text}", file=FILE).tools
    return definition


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(ToolFileError) as caught:
        parse(text, file=FILE)
    return caught.value.problems
