"""`up`: everything that can be wrong is found out before anything runs, and told in one line."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ringback.cli.exits import Exit
from ringback.cli.preflight import StartError, prepared, read_tools
from ringback.cli.session import JsonFlag, report
from ringback.cli.terminal import Terminal
from ringback.settings.errors import SettingsError

if TYPE_CHECKING:
    from ringback.client.blocking import Ringback
    from ringback.settings.server import ServerSettings


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

            announce(out, start_detached(flags))
            return
        code = _serve(out, flags, until_stdin_closes)
    except SettingsError as error:
        report(out, str(error), code=error.code)
        raise typer.Exit(Exit.USAGE) from None
    except StartError as error:
        report(out, str(error), code=error.code)
        raise typer.Exit(Exit.FAILED) from None
    except UnreachableError as error:
        report(out, error.detail, code="start_failed")
        raise typer.Exit(Exit.FAILED) from None
    raise typer.Exit(code)


def _serve(out: Terminal, flags: Mapping[str, Any], until_stdin_closes: bool) -> int:
    from ringback.cli import journal
    from ringback.cli.supervisor import Supervisor
    from ringback.settings.server import load_server_settings

    settings = load_server_settings(flags)
    definitions = read_tools(settings.file, is_named=settings.file is not None)
    with prepared(settings):
        journal.configure(settings.log_level, settings.log_format)
        return Supervisor(settings, Story(out, settings, definitions)).run(until_stdin_closes=until_stdin_closes)


class Story:
    """What happens while the processes come up, and what the user is told."""

    def __init__(self, out: Terminal, settings: "ServerSettings", definitions: Sequence[Mapping[str, Any]]) -> None:
        """Nothing is told yet."""
        self._out, self._settings, self._definitions = out, settings, definitions

    def serving(self, url: str) -> None:
        """Make the tools of the file current."""
        from ringback.client.errors import RingbackError

        if not self._definitions:
            return
        try:
            with self._client(url) as client:
                changes = client.apply(self._definitions)
        except RingbackError as refused:
            raise StartError(f"the tools of ringback.toml were not taken: {refused}") from None
        changed = [change.name for change in changes if change.change != "unchanged"]
        if changed:
            self._out.note(f"tools applied: {', '.join(changed)}")

    def worker_command(self, url: str) -> list[str]:
        """`ringback worker` for this very server."""
        settings = self._settings
        command = [sys.executable, "-m", "ringback.cli.attached", *([settings.app] if settings.app else [])]
        command += ["--server", url, "--data", str(settings.data), "--pool", settings.pool]
        command += ["--slots", str(settings.slots)] if settings.slots else []
        return [*command, "--log-level", settings.log_level, "--log-format", settings.log_format]

    def is_worker_attached(self, url: str) -> bool:
        """Whether the server knows a worker."""
        from ringback.client.errors import RingbackError

        try:
            with self._client(url) as client:
                return bool(client.workers())
        except RingbackError:
            return False

    def ready(self, url: str, pid: int) -> None:
        """Tell where it is, once."""
        settings = self._settings
        facts = {"url": url, "pid": os.getpid(), "server_pid": pid, "data": str(settings.data)}
        announce(self._out, facts | {"token_file": str(settings.places.token), "log_level": settings.log_level})

    def _client(self, url: str) -> "Ringback":
        from ringback.client.blocking import Ringback

        return Ringback(url, data=self._settings.data)


def announce(out: Terminal, facts: Mapping[str, Any]) -> None:
    """The address, where the token lies, how much is logged."""
    if out.json_mode:
        out.record(facts)
        return
    out.line(f"Ringback is up at {out.paint(str(facts['url']), 'bold')} (pid {facts['pid']})")
    out.line(f"  data   {facts['data']}")
    out.line(f"  token  {facts['token_file']}  (ringback token prints it)")
    out.line(f"  logs   {facts.get('log_file') or 'stderr'}, level {facts['log_level']}")
