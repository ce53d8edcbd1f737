"""Changes one table of a host's TOML or YAML file, and leaves every other line where it is.

Both are changed as lines of text, so that comments and layout stay. A TOML result is read back and must be what was there plus
the change; of YAML only the plain block form that its host writes itself is changed, and everything else is refused.
"""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from ringback.hosts.errors import HostFileError

_HEADER = re.compile(r"^\s*\[")


def put_toml(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """`text` with the table `[path]` holding `value`, whatever it held before.

    Raises:
        HostFileError: it is no TOML, or the table is written in a way that can't be replaced line by line.
    """
    wanted = _read_toml(text)
    at: dict[str, Any] = wanted
    for name in path[:-1]:
        at = at.setdefault(name, {})
        if not isinstance(at, dict):
            raise HostFileError(f"{name} is no table in it")
    if at.get(path[-1]) == value:
        return text
    at[path[-1]] = dict(value)
    name = ".".join(path)
    kept = _without_table(text, name)
    lines = [f"[{name}]"] + [f"{key} = {_toml(each)}" for key, each in value.items()]
    changed = f"{kept.rstrip()}\n\n" if kept.strip() else ""
    changed += "\n".join(lines) + "\n"
    if _read_toml(changed) != wanted:
        raise HostFileError(f"the table {name} could not be replaced without touching the rest")
    return changed


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HostFileError(f"it is not TOML: {error}") from None


def _without_table(text: str, name: str) -> str:
    kept: list[str] = []
    is_ours = False
    for line in text.splitlines():
        if _HEADER.match(line):
            header = line.strip().strip("[]").strip()
            is_ours = header == name or header.startswith(f"{name}.")
        if not is_ours:
            kept.append(line)
    return "\n".join(kept)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)  # strings, numbers, truth and lists are written alike


def put_yaml(text: str, section: str, name: str, value: Mapping[str, Any]) -> str:
    """`text` with `name` in the top-level `section` holding `value`.

    Raises:
        HostFileError: the section is not in block form.
    """
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if re.match(rf"{re.escape(section)}\s*:", line)), None)
    entry = [f"  {name}:", *(f"    {key}: {json.dumps(each, ensure_ascii=False)}" for key, each in value.items())]
    if start is None:
        return "\n".join([*lines, f"{section}:", *entry]) + "\n"
    behind = lines[start].partition(":")[2].split("#")[0].strip()
    if behind == "{}":
        lines[start] = f"{section}:"
    elif behind:
        raise HostFileError(f"its {section!r} is not written as a block")
    end = next((n for n in range(start + 1, len(lines)) if re.match(r"[^\s#]", lines[n])), len(lines))
    block = lines[start + 1 : end]
    indent = next((len(line) - len(line.lstrip()) for line in block if line.strip() and line.strip()[0] != "#"), 2)
    if any("\t" in line for line in block) or (end < len(lines) and lines[end].startswith("-")):
        raise HostFileError(f"its {section!r} is not written as a block of names")
    entry = [line.replace("  ", " " * indent, 1) for line in entry]
    kept = _without_entry(block, name, indent)
    while kept and not kept[-1].strip():
        kept.pop()
    return "\n".join([*lines[: start + 1], *kept, *entry, *lines[end:]]) + "\n"


def _without_entry(block: Sequence[str], name: str, indent: int) -> list[str]:
    kept: list[str] = []
    is_ours = False
    for line in block:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            is_ours = line.strip().startswith((f"{name}:", f'"{name}":'))
        if not is_ours:
            kept.append(line)
    return kept
