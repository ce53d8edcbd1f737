"""Writing a first `ringback.toml`: suggestions as TOML with the reasons for each choice as comments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ringback.toolfile.detection import SUGGESTIONS_MAX, Suggestion
from ringback.toolfile.loading import FILE_NAME

_HEADER: Final = """\
# Tools that agents may start here, written by `ringback init` from what this repository shows. It is yours now: change
# what you like, and run `ringback apply`. Every key is explained in the manual, docs/tools.md; the end of this file has
# them all at a glance.
#
# A command is a list, and no shell reads it. {name} is the place of an input; an element whose optional input is absent
# is left out, and so is a whole ["-k", "{name}"]. A caller's value never becomes an option of the command.
"""
_NOTHING: Final = """\

# Nothing was recognised here. A tool looks like this; remove the marks in front to use it:
"""
_REFERENCE: Final = """\

# What else a tool can say:
#
# [tools.example]
# description = "Run the checks of one part. Takes about ten minutes."   # tells a model when to call it
# command = ["./check", "--part={part}", ["--only", "{only}"], "--", "{files}"]
# shell = false                      # true: command is one text for /bin/sh, and every value is quoted
# cwd = "."                          # from the folder of this file
# env = { CI = "true" }              # plain values
# env_allow = ["JAVA_HOME"]          # variables of the worker that the command may see, besides PATH, HOME and the like
# secrets = ["API_TOKEN"]            # the same, and their values are masked in all output; never write a secret down here
# timeout = "10m"                    # or { attempt = "10m", queue = "1h", idle = "2m", total = "2h" }
# cancel_grace = "5s"                # between asking the command to stop and killing it
# retry = 3                          # attempts in all; or { attempts = 3, delay = "10s", max_delay = "5m", factor = 2 }
# idempotent = true                  # may run again if its worker is lost
# concurrency = 1                    # runs of this tool at a time; or a key shared by tools; or { key = "db", limit = 2 }
# priority = 0                       # higher goes first
# pool = "default"                   # which workers
# limits = { output = "16MiB", memory = "4GiB", cpu = "1h", open_files = 1024 }
# summary = "auto"                   # pytest, unittest, jest, vitest, go, cargo, tap, exit, "junit:PATH", { regex = "…" }
# mode = "job"                       # "task": a handle for clients that know tasks; "inline": for short work
# requires_idempotency_key = false   # true: a caller must name the request, so that a repeat never starts it twice
#
# [tools.example.input]
# part = { enum = ["api", "web"], default = "api", description = "which part" }
# only = "string?"
# files = { type = "array", items = { type = "string" }, optional = true, description = "files to check" }
"""


def render_toml(suggestions: Iterable[Suggestion]) -> str:
    """The commented file; `parse` reads it back."""
    found = list(suggestions)
    out = [_HEADER]
    if not found:
        out.append(_NOTHING.rstrip("\n"))
    out += ["\n".join(_tool(suggestion)) for suggestion in found]
    if len(found) >= SUGGESTIONS_MAX:
        out.append(f"\n# There may be more: only the first {SUGGESTIONS_MAX} are listed.")
    return "\n".join(out) + "\n" + _REFERENCE


def write_file(folder: str | Path, suggestions: Iterable[Suggestion], *, force: bool = False) -> Path:
    """Write `ringback.toml` into the folder, whole or not at all.

    Raises:
        FileExistsError: there is one already, and `force` is not set.
        OSError: it cannot be written.
    """
    file = Path(folder).absolute() / FILE_NAME
    text = render_toml(suggestions)
    if not force:
        with file.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        return file
    draft = file.with_name(f".{FILE_NAME}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8", newline="\n")
    draft.replace(file)
    return file


def _tool(suggestion: Suggestion) -> Iterator[str]:
    yield f"\n# {_comment(suggestion.why)}."
    yield from (f"# {_comment(choice)}" for choice in suggestion.choices)
    yield f"[tools.{suggestion.name}]"
    yield f"description = {_value(suggestion.description)}"
    yield f"command = {_value(list(suggestion.command))}"
    if suggestion.folder != ".":
        yield f"cwd = {_value(suggestion.folder)}"
    if suggestion.env:
        yield f"env = {_value(suggestion.env)}"
    yield f"timeout = {_value(suggestion.timeout)}"
    yield f"summary = {_value(suggestion.summary)}"
    yield "# idempotent = true  # if it may run again after its worker was lost"
    if suggestion.inputs:
        yield f"[tools.{suggestion.name}.input]"
        yield from (f"{name} = {_value(schema)}" for name, schema in suggestion.inputs.items())


def _comment(text: str) -> str:
    """Text for one comment line: TOML allows no control characters there."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _value(value: Any) -> str:
    """A TOML value on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_value(item) for item in value) + "]"
        case _:
            return str(value)
