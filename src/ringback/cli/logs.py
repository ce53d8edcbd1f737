"""`logs`: what a job wrote, readable or raw, up to now or to its end."""

import sys
from typing import Annotated

import typer

from ringback.cli.jobs import JobArgument
from ringback.cli.output import Reader, last_lines
from ringback.cli.session import Session, connected
from ringback.client.blocking import Job
from ringback.client.records import Event


@connected(patient=True)
def logs(
    session: Session,
    job: JobArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    tail: Annotated[int | None, typer.Option("--tail", "-n", min=0, metavar="N", help="Only the last N lines.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The bytes exactly as they were written.")] = False,
    stream: Annotated[str | None, typer.Option(help="Only stdout or stderr.")] = None,
) -> None:
    """Print what a job wrote, without terminal control unless --raw. Follows with -f; Ctrl-C ends that, not the job."""
    handle = session.client.job(job)
    if session.out.json_mode:
        _as_records(session, handle, stream, follow)
        return
    position = 0
    if not follow or tail is not None:
        if follow:
            position = _last_sequence(session, handle)
        written = handle.output(stream)
        _show(written if tail is None else last_lines(written, tail), raw)
    if follow:
        _follow(handle, stream, raw, position)


def _show(written: bytes, raw: bool) -> None:
    if raw:
        sys.stdout.buffer.write(written)
    else:
        reader = Reader(sys.stdout.write)
        reader.feed("", written)
        reader.end()
    sys.stdout.flush()


def _follow(job: Job, stream: str | None, raw: bool, after: int) -> None:
    reader = Reader(sys.stdout.write)
    for event in job.events(after=after):
        chunk = event.output
        if chunk is None or not _is_of(event, stream):
            continue
        if raw:
            sys.stdout.buffer.write(chunk)
        else:
            reader.feed(str(event.data.get("stream")), chunk)
        sys.stdout.flush()
    reader.end()
    sys.stdout.flush()


def _as_records(session: Session, job: Job, stream: str | None, follow: bool) -> None:
    events = job.events() if follow else events_so_far(session, job)
    for event in events:
        if event.type in {"output.chunk", "output.dropped"} and _is_of(event, stream):
            session.out.record(event.raw)


def events_so_far(session: Session, job: Job, after: int = 0) -> tuple[Event, ...]:
    """The job's events up to now."""
    from ringback.client.operations import events_so_far as operation

    return session.run(operation(session.link, job.id, after=after))


def _last_sequence(session: Session, job: Job) -> int:
    from ringback.client.operations import run

    return int(session.run(run(session.link, job.id)).get("eventSequence", 0))


def _is_of(event: Event, stream: str | None) -> bool:
    return stream is None or event.data.get("stream") == stream
