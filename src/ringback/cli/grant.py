"""`grant …`: what other projects may call of this one, and what this one may call of theirs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from ringback.cli.arguments import ArgumentError
from ringback.cli.coercion import QuickCommand, QuickGroup
from ringback.cli.resources import ChannelOption, NameArgument, TypeOption, known
from ringback.cli.session import Session, connected
from ringback.cli.terminal import plain

app = typer.Typer(
    cls=QuickGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Let other projects call resources of this one.",
)


@app.command("list", cls=QuickCommand)
@connected()
def list_grants(session: Session) -> None:
    """List what the project lets others call, and what others let it call."""
    found = session.client.grants.list()
    if session.out.json_mode:
        session.out.document(found)
        return
    rows = [_row("to", each["granteeProjectId"], each) for each in found["given"]]
    rows += [_row("from", each["providerProjectId"], each) for each in found["received"]]
    session.out.table(("GRANT", "", "PROJECT", "TYPE", "NAME", "CHANNEL", "STATE", "SHOWS"), rows)


def _row(direction: str, project: str, each: Mapping[str, Any]) -> tuple[str, ...]:
    state = "revoked" if "revokedAt" in each else f"until {each['expiresAt']}" if "expiresAt" in each else "good"
    what = str(each["resourceType"]), str(each["name"]), str(each["releaseChannel"])
    return str(each["grantId"]), direction, project, *what, state, " ".join(each["visibilityScopes"])


@app.command("give", cls=QuickCommand)
@connected()
def give(
    session: Session,
    name: NameArgument,
    grantee: Annotated[str, typer.Argument(metavar="PROJECT", help="The id of the project that may call it.")],
    show: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPE",
            help="What it sees beside the status: events, output, input, attempts, links, interactions; may be repeated.",
        ),
    ] = None,
    kind: TypeOption = "tool",
    channel: ChannelOption = "stable",
    expires: Annotated[str | None, typer.Option(metavar="WHEN", help="RFC 3339, with an offset.")] = None,
) -> None:
    """Let another project call a resource of this one; the runs will be yours."""
    made = session.client.grants.give(
        name, grantee, scopes=show or (), kind=known(kind), channel=channel, expires_at=_moment(expires)
    )
    if session.out.json_mode:
        session.out.document(made)
        return
    session.out.note(f"{plain(made['granteeProjectId'])} may call {plain(name)} by this id, or by an alias for it")
    session.out.line(plain(made["grantId"]))


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


@app.command("revoke", cls=QuickCommand)
@connected()
def revoke(
    session: Session, grant_id: Annotated[str, typer.Argument(metavar="ID", help="As `grant list` shows it.")]
) -> None:
    """End a grant at once; what it started goes on, unknown to the other side."""
    ended = session.client.grants.revoke(grant_id)
    if session.out.json_mode:
        session.out.document(ended)
    session.out.line(f"{plain(grant_id)} revoked")
