"""`mcp install`: put Ringback into the configuration of a coding assistant, or print what would be put there."""

import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ringback.cli.exits import Exit
from ringback.cli.session import DataOption, JsonFlag, ProjectOption, UrlOption
from ringback.cli.terminal import Terminal, report
from ringback.hosts.errors import HostFileError
from ringback.hosts.files import carry_out, planned
from ringback.hosts.known import HOSTS, Change, Scope, Target


class HostName(StrEnum):
    """A test holds these against the hosts that are known."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    VSCODE = "vscode"
    CURSOR = "cursor"
    GEMINI = "gemini"
    OPENCODE = "opencode"
    GOOSE = "goose"


def install(
    host: Annotated[
        HostName, typer.Argument(metavar="HOST", help="claude-code, codex, vscode, cursor, gemini, opencode or goose.")
    ],
    only_print: Annotated[
        bool, typer.Option("--print", help="Change nothing; print what the files would hold.")
    ] = False,
    hooks: Annotated[bool, typer.Option("--hooks", help="Also the hooks that tell its model what has ended.")] = False,
    scope: Annotated[Scope, typer.Option(help="For you everywhere, or for everybody in this folder.")] = Scope.USER,
    data: DataOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
    json: JsonFlag = False,
) -> None:
    """Configure a coding assistant to use Ringback. The rest of its files stays as it is."""
    out = Terminal(json_mode=json)
    try:
        changes = _changes(host, _target(scope, data, url, project), with_hooks=hooks)
        plans = [(change, *planned(change)) for change in changes]  # all can be done, before one is
        done = [(change.path, after, not only_print and carry_out(change)) for change, _, after in plans]
    except HostFileError as error:
        report(out, str(error), code="host_file")
        raise typer.Exit(Exit.FAILED) from None
    if json:
        files = [{"path": str(path), "changed": changed, "text": text} for path, text, changed in done]
        out.document({"host": host.value, "files": files})
    for path, text, changed in done:
        if only_print:
            out.line(f"{path}:\n{text}")
        else:
            out.line(f"{path}: {'changed' if changed else 'as it should be'}")
    if not only_print:
        out.note(f"Restart {host.value} to let it see this.")


def _changes(host: HostName, target: Target, *, with_hooks: bool) -> list[Change]:
    known = HOSTS[host]
    changes = [known.server(target)]
    if with_hooks:
        if known.hooks is None:
            raise HostFileError(f"{host.value} has no hooks that Ringback can use; see docs/hosts.md")
        changes.append(known.hooks(target))
    if len({change.path for change in changes}) < len(changes):  # both in one file
        return [Change(changes[0].path, lambda text: changes[1].edit(changes[0].edit(text)))]
    return changes


def _target(scope: Scope, data: Path | None, url: str | None, project: str | None) -> Target:
    flags = {"--data": None if data is None else str(data.expanduser().absolute()), "--url": url, "--project": project}
    options = [word for name, value in flags.items() if value is not None for word in (name, value)]
    return Target(scope=scope, program=_program(scope), options=options, home=Path.home(), folder=Path.cwd())


def _program(scope: Scope) -> str:
    """How the host starts us. A project's files are shared, so they hold no place on one person's machine."""
    if scope is Scope.PROJECT:
        return "ringback"
    beside = Path(sys.executable).with_name("ringback")
    return str(beside) if beside.exists() else shutil.which("ringback") or "ringback"
