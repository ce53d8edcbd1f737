"""`share …`: links that open the status of one job to whoever has them."""

from typing import Annotated

import typer

from ringback.cli.coercion import QuickCommand, QuickGroup
from ringback.cli.moments import seconds_of
from ringback.cli.session import Session, connected

app = typer.Typer(
    cls=QuickGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Make, list and revoke links that open the status of one job.",
)
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")]


@app.command("create", cls=QuickCommand)
@connected()
def create(
    session: Session,
    job: JobArgument,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="How long it is good, e.g. 2h.")] = None,
) -> None:
    """Make a link; it is shown once."""
    made = session.client.access.share(job, expires_in_s=None if expires is None else round(seconds_of(expires)))
    if session.out.json_mode:
        session.out.document(made)
    session.out.line(f"{session.client.connection.url}{made['url']}?token={made['token']}")


@app.command("list", cls=QuickCommand)
@connected()
def list_links(session: Session, job: JobArgument) -> None:
    """List a job's links, without what opens them."""
    found = session.client.access.shared(job)
    if session.out.json_mode:
        session.out.document({"tokens": list(found)})
        return
    rows = [(each["tokenId"], each["expiresAt"], "revoked" if "revokedAt" in each else "") for each in found]
    session.out.table(("ID", "EXPIRES", ""), rows)


@app.command("revoke", cls=QuickCommand)
@connected()
def revoke(
    session: Session,
    job: JobArgument,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The link's id, as `share list` shows it.")],
) -> None:
    """End a link at once."""
    session.client.access.unshare(job, token_id)
    if session.out.json_mode:
        session.out.document({"revoked": token_id})
    session.out.line(f"{token_id} revoked")
