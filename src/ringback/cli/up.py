"""`up`: everything that can be wrong is found out before anything runs, and told in one line."""

from collections.abc import Mapping
from json import loads
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from ringback.cli.exits import Exit
from ringback.cli.plan import Plan
from ringback.cli.preflight import StartError, prepared, read_tools
from ringback.cli.session import JsonFlag
from ringback.cli.terminal import Terminal, report
from ringback.settings.errors import SettingsError


def up(
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="The data folder.")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on (127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Port (7878); 0 takes a free one.")] = None,
    store: Annotated[str | None, typer.Option(metavar="URL", help="sqlite:///… or postgresql://…")] = None,
    dispatch: Annotated[str | None, typer.Option(help="builtin, or temporal://…")] = None,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Only the server.")] = False,
    slots: Annotated[int | None, typer.Option(help="Attempts that the local worker runs at a time.")] = None,
    pool: Annotated[str | None, typer.Option(help="Pool of the local worker.")] = None,
    app: Annotated[str | None, typer.Option(metavar="MODULE:APP", help="Function tools of the local worker.")] = None,
    file: Annotated[Path | None, typer.Option(help="File of tools (ringback.toml of this folder).")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="auto, console or json.")] = None,
    drain: Annotated[float | None, typer.Option("--drain", metavar="SECONDS", help="Time to drain (10).")] = None,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Run in the background; log in the data folder.")
    ] = False,
    json: JsonFlag = False,
    until_stdin_closes: Annotated[bool, typer.Option("--until-stdin-closes", hidden=True)] = False,
) -> None:
    """Start a server and a local worker.

    Ctrl-C or SIGTERM drains: first the worker, then the server. Ctrl-C again ends both at once.
    """
    flags: dict[str, Any] = {
        "data": data,
        "host": host,
        "port": port,
        "store": store,
        "dispatch": dispatch,
        "no_worker": no_worker or None,
        "slots": slots,
        "pool": pool,
        "app": app,
        "file": file,
        "log_level": log_level,
        "log_format": log_format,
        "drain_s": drain,
    }
    out = Terminal(json_mode=json)
    from ringback.client.errors import UnreachableError

    try:
        if detach:
            from ringback.cli.background import start_detached
            from ringback.cli.upkeep import announce

            announce(out, start_detached(flags))
            return
        _serve(out, flags, until_stdin_closes)
    except SettingsError as error:
        report(out, str(error), code=error.code)
        raise typer.Exit(Exit.USAGE) from None
    except StartError as error:
        report(out, str(error), code=error.code)
        raise typer.Exit(Exit.FAILED) from None
    except UnreachableError as error:
        report(out, error.detail, code="start_failed")
        raise typer.Exit(Exit.FAILED) from None


def _serve(out: Terminal, flags: Mapping[str, Any], until_stdin_closes: bool) -> NoReturn:
    """Check everything, then become the process that stays."""
    from ringback.settings.checking import load_server_settings

    settings = load_server_settings(flags)
    definitions = tuple(read_tools(settings.file, is_named=settings.file is not None))
    lock = prepared(settings)
    Plan(
        settings=loads(settings.model_dump_json()),
        definitions=definitions,
        json_mode=out.json_mode,
        until_stdin_closes=until_stdin_closes,
        lock_fd=lock.fd,
    ).carry_out()
