"""`project …`: which projects there are, and new ones."""

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
    help="Make and list projects.",
)


@app.command("list", cls=QuickCommand)
@connected()
def list_projects(session: Session) -> None:
    """List the projects that you are a member of."""
    found = session.client.access.projects()
    if session.out.json_mode:
        session.out.document({"projects": list(found)})
        return
    session.out.table(("PROJECT", "ORG", "NAME"), [(each["slug"], each["orgId"], each["name"]) for each in found])


@app.command("create", cls=QuickCommand)
@connected()
def create(
    session: Session,
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="Small letters, digits and hyphens.")],
    name: Annotated[str | None, typer.Option(help="As people read it.")] = None,
    org: Annotated[str | None, typer.Option(help="Its org; `local` if not given.")] = None,
) -> None:
    """Make a project; you become its owner. Takes a platform role."""
    made = session.client.access.create_project(slug, name=name, org=org)
    if session.out.json_mode:
        session.out.document(made)
    session.out.line(f"made {made['slug']}")
