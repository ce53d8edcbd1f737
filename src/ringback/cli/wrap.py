"""`wrap`: any MCP server, with its tools as jobs: started, looked at, stopped, and rung back."""

import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from ringback.cli.coercion import QuickCommand
from ringback.cli.mcp import finder
from ringback.cli.session import DataOption, ProjectOption, UrlOption
from ringback.settings.connection import Connection, find_connection

MODES = ("task", "job", "inline")
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command(cls=QuickCommand, context_settings={"allow_interspersed_args": False})
def wrap(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND", help="The command of an MCP server, behind --.")
    ] = None,
    remote: Annotated[
        str | None, typer.Option("--remote", metavar="URL", help="Its address, where it is not a command.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What its tools are called after (from the command).")] = None,
    mode: Annotated[str, typer.Option(help="task, job or inline; see docs/wrap.md.")] = "task",
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="NAME", help="A variable that it needs; again for more.")
    ] = None,
    idle: Annotated[float, typer.Option(help="Seconds without a call after which it is ended.")] = 300.0,
    sampling: Annotated[bool, typer.Option("--sampling", help="Let it ask for a model; people are asked.")] = False,
    data: DataOption = None,
    url: UrlOption = None,
    project: ProjectOption = None,
) -> None:
    """Serve an MCP server's tools over stdio as jobs. Everything that is running goes on when this ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)  # stdout is the protocol's alone
    words = list(command or ())
    if bool(words) == (remote is not None):
        raise typer.BadParameter("give the command of an MCP server behind --, or --remote URL")
    if remote is not None and env:
        raise typer.BadParameter("--env is for a command; an address has none")
    if mode not in MODES:
        raise typer.BadParameter(f"--mode must be one of {', '.join(MODES)}")
    from ringback.mcp.stdio import serve
    from ringback.mcp.wrapping import Wrapped, Wrapping, prefix_of

    connection = find_connection(url=url, project=project, data=data)
    server: dict[str, Any] = {"url": remote} if remote else {"command": words, **_place(connection, env or [])}
    server |= {"asks": ["elicitation", *(["sampling"] if sampling else [])], "idleS": idle}
    wrapped = Wrapped(prefix=prefix_of([name], None) if name else prefix_of(words, remote), server=server, mode=mode)
    if env:
        values = {each: os.environ[each] for each in env}
        server["secretsFile"] = str(_kept(connection.places.data / "wrapped", f"{wrapped.stem}.json", values))
    serve(finder(data, url, project), Wrapping(wrapped))


def _place(connection: Connection, names: list[str]) -> dict[str, Any]:
    """Where the server runs. Only on this machine that is here, with the variables that are here."""
    if connection.url is not None and not connection.is_local:
        if names:
            raise typer.BadParameter(
                "--env is for a local server; elsewhere the worker has the variables, see docs/wrap.md"
            )
        return {}
    missing = [each for each in names if each not in os.environ]
    if missing:
        raise typer.BadParameter(f"there is no variable {', '.join(missing)} here")
    return {"cwd": str(Path.cwd()), "env": {"PATH": os.environ.get("PATH", os.defpath)}}


def _kept(folder: Path, name: str, values: dict[str, str]) -> Path:
    """A file that only its owner can read, replaced as a whole."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
        json.dump(values, file)
    place = folder / name
    Path(file.name).replace(place)
    return place
