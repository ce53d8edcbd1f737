"""`mcp`: speak MCP on stdin and stdout, for an assistant that starts this as its server."""

import logging
import sys

import typer

from ringback.cli.session import DataOption, ProjectOption, UrlOption
from ringback.client.embedded import is_serving
from ringback.settings.connection import Connection, find_connection

app = typer.Typer(invoke_without_command=True, no_args_is_help=False)


@app.callback()
def mcp(context: typer.Context, data: DataOption = None, url: UrlOption = None, project: ProjectOption = None) -> None:
    """Serve MCP over stdio; starts the local server in the background when none runs."""
    if context.invoked_subcommand is not None:
        return
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)  # stdout is the protocol's alone
    from ringback.mcp.stdio import serve

    def find() -> Connection:
        connection = find_connection(url=url, project=project, data=data)
        is_local = connection.url is None or connection.is_local
        if not is_local or is_serving(connection.places):
            return connection
        from ringback.cli.background import start_detached

        start_detached({"data": connection.places.data})
        return find_connection(url=url, project=project, data=data)

    serve(find)
