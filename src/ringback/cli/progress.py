"""`progress`: how far a job is, told by the job itself."""

from typing import Annotated

import typer

from ringback.cli.arguments import ArgumentError
from ringback.cli.inside import inside
from ringback.client import operations
from ringback.client.blocking import Ringback


def progress(
    done: Annotated[float | None, typer.Argument(help="How much is done, in the work's own units.")] = None,
    total: Annotated[float | None, typer.Argument(help="Of how much.")] = None,
    message: Annotated[
        str | None, typer.Option("--message", "-m", metavar="TEXT", help="What it is at, 200 characters at most.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print errors as JSON.")] = False,
) -> None:
    """Tell from inside a job how far it is. The last word counts."""
    given = {"done": _number(done), "total": _number(total), "message": message}
    told = {name: value for name, value in given.items() if value is not None}

    def act(_: object, client: Ringback) -> None:
        if not told:
            raise ArgumentError("say how far it is: DONE [TOTAL], --message TEXT, or both")
        client.driver.run(operations.progress(client.link, told))

    inside("progress", act, json_mode=json, dogged=False)


def _number(value: float | None) -> float | int | None:
    return int(value) if value is not None and value.is_integer() else value
