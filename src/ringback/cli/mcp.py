"""`mcp`: speak MCP on stdin and stdout, for an assistant that starts this as its server."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import typer

from ringback.cli.coercion import QuickGroup
from ringback.cli.mcp_install import install
from ringback.cli.session import DataOption, ProjectOption, UrlOption
from ringback.client.embedded import is_serving
from ringback.settings.connection import Connection, find_connection

app = typer.Typer(
    cls=QuickGroup,
    invoke_without_command=True,
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def mcp(context: typer.Context, data: DataOption = None, url: UrlOption = None, project: ProjectOption = None) -> None:
    """Serve MCP over stdio. Starts the local server in the background when none runs; runs go on when this ends."""
    if context.invoked_subcommand is not None:
        return
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)  # stdout is the protocol's alone
    from ringback.mcp.stdio import serve

    serve(finder(data, url, project))


def finder(data: Path | None, url: str | None, project: str | None) -> Callable[[], Connection]:
    """Finds the server, and starts the local one in the background when none runs."""

    def find() -> Connection:
        connection = find_connection(url=url, project=project, data=data)
        is_local = connection.url is None or connection.is_local
        if not is_local or is_serving(connection.places):
            return connection
        from ringback.cli.background import start_detached

        start_detached({"data": connection.places.data})
        return find_connection(url=url, project=project, data=data)

    return find


app.command("install")(install)
