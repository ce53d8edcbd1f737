"""Commands about who works and what is handed out: workers, pause, resume."""

from typing import Annotated, Any

import typer

from ringback.cli.session import Session, connected

PoolArgument = Annotated[str, typer.Argument(metavar="POOL", help="The pool's name.")]


@connected()
def workers(session: Session) -> None:
    """List the attached workers."""
    found = session.client.workers()
    if session.out.json_mode:
        session.out.document({"workers": list(found)})
    elif not found:
        session.out.note("No worker is attached. Start one: ringback worker")
    else:
        session.out.table(("WORKER", "STATUS", "SLOTS", "OFFERS"), [_row(dict(worker)) for worker in found])


def _row(worker: dict[str, Any]) -> tuple[str, ...]:
    offers = ", ".join(str(offer) for offer in worker.get("offers") or ())
    name = worker.get("name") or worker.get("sessionId") or "?"
    return str(name), str(worker.get("status", "attached")), str(worker.get("slots", "?")), offers


@connected()
def pause(session: Session, pool: PoolArgument) -> None:
    """Hand out nothing more of a pool; what runs goes on."""
    _switch(session, pool, "paused", dict(session.client.pause(pool)))


@connected()
def resume(session: Session, pool: PoolArgument) -> None:
    """Hand out work of a pool again."""
    _switch(session, pool, "resumed", dict(session.client.resume(pool)))


def _switch(session: Session, pool: str, word: str, answer: dict[str, Any]) -> None:
    if session.out.json_mode:
        session.out.document(answer)
    session.out.line(f"{pool} {word}")
