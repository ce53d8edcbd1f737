"""Reading a `ringback.toml` whole: the file, its top-level tables, and all of its problems together."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ringback.toolfile.others import read_agent, read_server
from ringback.toolfile.positions import Positions
from ringback.toolfile.problems import Findings, Problem, ToolFileError
from ringback.toolfile.tables import Table
from ringback.toolfile.tools import read_tool, refuse_collisions

FILE_NAME: Final = "ringback.toml"
TOP_LEVEL: Final = ("project", "server", "tools", "servers", "agents")
# The same names as the fields of `ringback.settings.ServerSettings`, which reads and checks the values; a test compares.
SERVER_KEYS: Final = (
    "app",
    "data",
    "dispatch",
    "drain_s",
    "file",
    "heartbeat_s",
    "host",
    "lease_s",
    "log_format",
    "log_level",
    "no_worker",
    "pool",
    "port",
    "public_url",
    "requests_burst",
    "requests_per_s",
    "retention_days",
    "slots",
    "store",
)
_FILE_BYTES_MAX: Final = 1024 * 1024
_DEPTH_MAX: Final = 50
_PROJECT: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_PLACE: Final = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFile:
    """A checked file of tools.

    Attributes:
        path: absolute.
        project: slug of `[project] name`, or None.
        server: the `[server]` table with known keys; `ringback.settings` checks the values.
        tools, servers, agents: definitions in the order of the file, ready to be stored as revisions.
    """

    path: Path
    project: str | None
    server: Mapping[str, Any]
    tools: tuple[dict[str, Any], ...]
    servers: tuple[dict[str, Any], ...] = ()
    agents: tuple[dict[str, Any], ...] = ()

    @property
    def definitions(self) -> tuple[dict[str, Any], ...]:
        """All of them."""
        return (*self.tools, *self.servers, *self.agents)


def load(path: str | Path) -> ToolFile:
    """Read a file of tools; a folder means the `ringback.toml` in it.

    Raises:
        ToolFileError: it cannot be read, is no TOML, or breaks rules; every problem is in it.
    """
    file = Path(path).absolute()
    if file.is_dir():
        file /= FILE_NAME
    try:
        with file.open("rb") as stream:
            content = stream.read(_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ToolFileError([_problem(file, f"cannot be read: {error.strerror or error}")]) from None
    if len(content) > _FILE_BYTES_MAX:
        raise ToolFileError([_problem(file, "larger than 1 MiB")])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ToolFileError([_problem(file, "not UTF-8", line=line)]) from None
    return parse(text, file=file)


def parse(text: str, *, file: Path) -> ToolFile:
    """Read the text of a file of tools that lies, or will lie, at `file`.

    Raises:
        ToolFileError: as for `load`.
    """
    data = _toml(text, file)
    findings = Findings(file=file.name, positions=Positions.of(text))
    top = Table(data, (), findings)
    top.refuse_unknown(TOP_LEVEL)
    project = top.inner("project")
    project.refuse_unknown(("name",))
    name = project.matching("name", "", _PROJECT, "a slug: lower-case letters, digits and -, at most 63")
    server = top.inner("server")
    server.refuse_unknown(SERVER_KEYS)
    folder = file.absolute().parent
    found = _read_all(top, "tools", read_tool, folder)
    refuse_collisions(found)
    servers, agents = _read_all(top, "servers", read_server, folder), _read_all(top, "agents", read_agent, folder)
    findings.raise_any()
    return ToolFile(
        path=file.absolute(),
        project=name or None,
        server=dict(server.data),
        tools=tuple(each for _, each in found),
        servers=tuple(each for _, each in servers),
        agents=tuple(each for _, each in agents),
    )


Read = Callable[[Table, Path], dict[str, Any]]


def _read_all(top: Table, kind: str, read: Read, folder: Path) -> list[tuple[Table, dict[str, Any]]]:
    """Each table of a kind with the definition that it stands for."""
    every = top.inner(kind, f"a table of {kind}, written [{kind}.NAME]")
    tables = [every.inner(key, f"a table, written [{kind}.NAME]") for key in every.data]
    return [(table, read(table, folder)) for table in tables if _is_table(table, every)]


def _is_table(table: Table, tools: Table) -> bool:
    """Whether the tool is a table, be it empty, and not something else that was noted already."""
    return isinstance(tools.data[table.path[-1]], dict)


def _toml(text: str, file: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.fullmatch(str(error))
        if place is None:
            raise ToolFileError([_problem(file, f"not TOML: {error}")]) from None
        lines = text.split("\n")
        line, column = (int(place["line"]), int(place["column"])) if place["line"] else (len(lines), len(lines[-1]) + 1)
        raise ToolFileError([_problem(file, f"not TOML: {place['what']}", line=line, column=column)]) from None
    except RecursionError:
        raise ToolFileError([_problem(file, f"nested deeper than {_DEPTH_MAX} levels")]) from None
    _refuse_unkeepable(data, file)
    return data


def _refuse_unkeepable(data: dict[str, Any], file: Path) -> None:
    """Refuse what no ledger keeps: NUL characters, and nesting without end (dotted keys nest without any recursion)."""
    level: list[object] = [data]
    for _ in range(_DEPTH_MAX):
        texts = [item for item in level if isinstance(item, str)]
        level = [inner for item in level for inner in _parts(item)]
        if any("\x00" in text for text in texts):
            raise ToolFileError([_problem(file, "a NUL character (\\u0000) cannot be kept")])
    if level:
        raise ToolFileError([_problem(file, f"nested deeper than {_DEPTH_MAX} levels")])


def _parts(item: object) -> list[Any]:
    if isinstance(item, dict):
        return [*item.keys(), *item.values()]
    return item if isinstance(item, list) else []


def _problem(file: Path, rule: str, *, line: int | None = None, column: int | None = None) -> Problem:
    return Problem(file=file.name, table="", key="", rule=rule, line=line, column=column)
