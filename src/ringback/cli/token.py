"""`token`: the local owner's token, for tools that want it in a variable."""

import typer

from ringback.cli.exits import Exit
from ringback.cli.session import DataOption, JsonFlag
from ringback.cli.terminal import Terminal, report
from ringback.settings.connection import find_connection, owner_token


def token(data: DataOption = None, json: JsonFlag = False) -> None:
    """Print the local owner's token. It opens everything on this installation: keep it to yourself."""
    out = Terminal(json_mode=json)
    places = find_connection(data=data).places
    secret = owner_token(places)
    if secret is None:
        report(out, f"{places.data} has no token yet: the first `ringback up` makes it", code="not_found")
        raise typer.Exit(Exit.NOT_ALLOWED)
    if out.json_mode:
        out.document({"token": secret, "file": str(places.token)})
    out.line(secret)
