"""`org …`: which organizations there are, and new ones."""

from typing import Annotated

import typer

from ringback.cli.coercion import QuickCommand, QuickGroup
from ringback.cli.session import Session, connected

app = typer.Typer(
    cls=QuickGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Make and list organizations.",
)


@app.command("list", cls=QuickCommand)
@connected()
def list_orgs(session: Session) -> None:
    """List the orgs of your projects; all, with a platform role."""
    found = session.client.access.orgs()
    if session.out.json_mode:
        session.out.document({"orgs": list(found)})
        return
    session.out.table(("ORG", "NAME"), [(each["orgId"], each["name"]) for each in found])


@app.command("create", cls=QuickCommand)
@connected()
def create(
    session: Session,
    org: Annotated[str, typer.Argument(metavar="ORG", help="Small letters, digits and hyphens.")],
    name: Annotated[str | None, typer.Option(help="As people read it.")] = None,
) -> None:
    """Make an org. Takes a platform role."""
    made = session.client.access.create_org(org, name=name)
    if session.out.json_mode:
        session.out.document(made)
    session.out.line(f"made {made['orgId']}")
