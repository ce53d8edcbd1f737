"""`member …`: who belongs to a project, and in which role."""

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
    help="Add, list and remove a project's members.",
)
UserArgument = Annotated[str, typer.Argument(metavar="USER", help="The user's name.")]


@app.command("list", cls=QuickCommand)
@connected()
def list_members(session: Session) -> None:
    """List the project's members with their roles."""
    found = session.client.access.members()
    if session.out.json_mode:
        session.out.document({"members": list(found)})
        return
    session.out.table(("USER", "ROLE"), [(each["user"], each["role"]) for each in found])


@app.command("set", cls=QuickCommand)
@connected()
def set_member(
    session: Session,
    user: UserArgument,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, runner, editor, admin or owner.")],
) -> None:
    """Make a user a member, or change the role."""
    changed = session.client.access.set_member(user, role)
    if session.out.json_mode:
        session.out.document(changed)
    session.out.line(f"{changed['user']} is {changed['role']}")


@app.command("remove", cls=QuickCommand)
@connected()
def remove(session: Session, user: UserArgument) -> None:
    """End a membership; the user's tokens open nothing here any more."""
    session.client.access.remove_member(user)
    if session.out.json_mode:
        session.out.document({"removed": user})
    session.out.line(f"{user} removed")
