"""`audit`: who changed what."""

import json
from typing import Annotated

import typer

from ringback.cli.session import Session, connected


@connected()
def audit(
    session: Session,
    installation: Annotated[
        bool, typer.Option("--installation", help="About the installation, not about the project.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 50,
) -> None:
    """List who changed what, newest first."""
    found = session.client.access.audit(installation=installation, limit=limit)
    if session.out.json_mode:
        session.out.document({"entries": list(found)})
        return
    rows = [(each["at"], each["actor"], each["action"], each["subject"], json.dumps(each["facts"])) for each in found]
    session.out.table(("AT", "WHO", "WHAT", "OF", "FACTS"), rows)
