"""`events`: a job's history, one line an event."""

import json
from collections.abc import Iterable
from typing import Annotated

import typer

from ringback.cli.jobs import JobArgument
from ringback.cli.session import Session, connected
from ringback.cli.terminal import plain
from ringback.client import streams
from ringback.client.records import Event

DETAIL_MAX = 160


@connected(patient=True)
def events(
    session: Session,
    job: JobArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    after: Annotated[int, typer.Option(min=0, metavar="N", help="Only those behind this sequence number.")] = 0,
) -> None:
    """Print a job's events. With --json: JSON lines, each event with its envelope."""
    handle = session.client.job(job)
    so_far = streams.events_so_far(session.link, job, after=after)
    found: Iterable[Event] = handle.events(after=after) if follow else session.run(so_far)
    for event in found:
        if session.out.json_mode:
            session.out.record(event.raw)
        else:
            moment = f"{event.created_at.astimezone():%H:%M:%S.%f}"[:-3]
            kind = session.out.paint(event.type, "cyan")
            session.out.line(f"{event.sequence:>5}  {moment}  {kind}  {_detail(event)}".rstrip())


def _detail(event: Event) -> str:
    chunk = event.output
    if chunk is not None:
        return f"{plain(event.data.get('stream', ''))} {len(chunk)} bytes"
    words = [f"{name}={_word(value)}" for name, value in event.data.items() if value is not None]
    return plain(" ".join(words))[:DETAIL_MAX]


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
