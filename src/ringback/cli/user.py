"""`user …`: who is known to the installation, and who administers it. Takes a platform role."""

from typing import Annotated

import typer

from ringback.cli.arguments import ArgumentError
from ringback.cli.coercion import QuickCommand, QuickGroup
from ringback.cli.session import Session, connected

app = typer.Typer(
    cls=QuickGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="List users, and say who administers the installation.",
)
ROLES = ("admin", "none")


@app.command("list", cls=QuickCommand)
@connected()
def list_users(session: Session) -> None:
    """List the users with their platform roles."""
    found = session.client.access.users()
    if session.out.json_mode:
        session.out.document({"users": list(found)})
        return
    session.out.table(("USER", "PLATFORM ROLE"), [(each["user"], each.get("platformRole") or "") for each in found])


@app.command("set", cls=QuickCommand)
@connected()
def set_role(
    session: Session,
    user: Annotated[str, typer.Argument(metavar="USER", help="The user's name.")],
    role: Annotated[str, typer.Argument(metavar="ROLE", help="admin, or none.")],
) -> None:
    """Make a user an administrator of the installation, or no longer one. That gives access to no project."""
    if role not in ROLES:
        raise ArgumentError(f"ROLE: must be one of {', '.join(ROLES)}")
    changed = session.client.access.set_platform_role(user, None if role == "none" else role)
    if session.out.json_mode:
        session.out.document(changed)
    session.out.line(f"{changed['user']}: {changed.get('platformRole') or 'none'}")
