"""`alias …`: names that stand for resources of the project, or for what another project grants."""

from typing import Annotated

import typer

from ringback.cli.coercion import QuickCommand, QuickGroup
from ringback.cli.resources import TypeOption, known
from ringback.cli.session import Session, connected
from ringback.cli.terminal import plain

app = typer.Typer(
    cls=QuickGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Make, list and remove names that stand for resources.",
)
AliasArgument = Annotated[str, typer.Argument(metavar="ALIAS", help="The name.")]


@app.command("list", cls=QuickCommand)
@connected()
def list_aliases(session: Session) -> None:
    """List the project's aliases."""
    found = session.client.aliases.list()
    if session.out.json_mode:
        session.out.document({"aliases": list(found)})
        return
    rows = [
        (
            str(each["alias"]),
            str(each["resourceType"]),
            str(each["name"]),
            str(each.get("releaseChannel", "")),
            str(each.get("grantId", "")),
        )
        for each in found
    ]
    session.out.table(("ALIAS", "TYPE", "STANDS FOR", "CHANNEL", "GRANT"), rows)


@app.command("put", cls=QuickCommand)
@connected()
def put(
    session: Session,
    alias: AliasArgument,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The resource that it stands for.")] = None,
    kind: TypeOption = "tool",
    channel: Annotated[str | None, typer.Option(metavar="NAME", help="Of this channel only.")] = None,
    grant: Annotated[str | None, typer.Option(metavar="ID", help="For a grant, in place of a resource.")] = None,
) -> None:
    """Make a name stand for a resource or a grant, whatever it stood for before."""
    made = session.client.aliases.put(alias, name, kind=known(kind), channel=channel, grant=grant)
    if session.out.json_mode:
        session.out.document(made)
    session.out.line(f"{plain(alias)} stands for {plain(made['resourceType'])} {plain(made['name'])}")


@app.command("remove", cls=QuickCommand)
@connected()
def remove(session: Session, alias: AliasArgument) -> None:
    """Take a name back."""
    session.client.aliases.remove(alias)
    if session.out.json_mode:
        session.out.document({"removed": alias})
    session.out.line(f"{plain(alias)} removed")
