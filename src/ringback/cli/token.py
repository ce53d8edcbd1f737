"""`token`: the local owner's token, for tools that want it in a variable; and tokens for others."""

from datetime import datetime
from typing import Annotated, Any

import typer

from ringback.cli.arguments import ArgumentError
from ringback.cli.coercion import QuickCommand, QuickGroup
from ringback.cli.exits import Exit
from ringback.cli.session import DataOption, JsonFlag, Session, connected
from ringback.cli.terminal import Terminal, report
from ringback.settings.connection import find_connection, owner_token

app = typer.Typer(
    cls=QuickGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    invoke_without_command=True,
)


@app.callback()
def token(ctx: typer.Context, data: DataOption = None, json: JsonFlag = False) -> None:
    """Print the local owner's token, or make, list and revoke tokens.

    The local owner's opens everything on this installation: keep it to yourself.
    """
    if ctx.invoked_subcommand is not None:
        return
    out = Terminal(json_mode=json)
    places = find_connection(data=data).places
    secret = owner_token(places)
    if secret is None:
        report(out, f"{places.data} has no token yet: the first `ringback up` makes it", code="not_found")
        raise typer.Exit(Exit.NOT_ALLOWED)
    if out.json_mode:
        out.document({"token": secret, "file": str(places.token)})
    out.line(secret)


@app.command("create", cls=QuickCommand)
@connected()
def create(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    scope: Annotated[list[str] | None, typer.Option("--scope", help="What it allows; may be repeated.")] = None,
    bind: Annotated[str | None, typer.Option("--bind", metavar="SLUG", help="Good for this project only.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="For this member of the project it is bound to.")] = None,
    expires: Annotated[str | None, typer.Option("--expires", metavar="WHEN", help="RFC 3339, with an offset.")] = None,
    worker: Annotated[bool, typer.Option("--worker", help="For workers: it attaches them and nothing else.")] = False,
) -> None:
    """Make a token and print it, this once. It allows no more than yours."""
    made = session.client.access.create_token(
        name, scope or (), project=bind, user=user, expires_at=_moment(expires), worker=worker
    )
    if session.out.json_mode:
        session.out.document(made)
        return
    session.out.note(f"{made['tokenId']}: {' '.join(made['scopes'])}. It is shown this once.")
    session.out.line(made["token"])


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentError(f"--expires {text!r} is not RFC 3339") from None
    if moment.tzinfo is None:
        raise ArgumentError("--expires needs an offset, for example 2027-01-01T00:00:00Z")
    return moment


@app.command("list", cls=QuickCommand)
@connected()
def list_tokens(session: Session) -> None:
    """List your tokens, and those of projects that you administer."""
    found = session.client.access.tokens()
    if session.out.json_mode:
        session.out.document({"tokens": list(found)})
        return
    session.out.table(("ID", "NAME", "USER", "PROJECT", "STATE", "SCOPES"), [_row(dict(each)) for each in found])


def _row(each: dict[str, Any]) -> tuple[str, ...]:
    state = "revoked" if "revokedAt" in each else f"until {each['expiresAt']}" if "expiresAt" in each else "valid"
    who, where = str(each.get("user", "-")), str(each.get("project", "-"))
    return str(each["tokenId"]), str(each["name"]), who, where, state, " ".join(each["scopes"])


@app.command("revoke", cls=QuickCommand)
@connected()
def revoke(
    session: Session, token_id: Annotated[str, typer.Argument(metavar="ID", help="As `token list` shows it.")]
) -> None:
    """End a token at once."""
    ended = session.client.access.revoke_token(token_id)
    if session.out.json_mode:
        session.out.document(ended)
    session.out.line(f"{token_id} revoked")
