"""`logs`: what a job wrote, readable or raw, up to now or to its end."""

import sys
from typing import Annotated

import typer

from ringback.cli.jobs import JobArgument
from ringback.cli.output import Reader
from ringback.cli.session import Session, connected
from ringback.cli.terminal import plain
from ringback.client import streams
from ringback.client.blocking import Job
from ringback.client.records import Event
from ringback.client.requests import Output


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
    elif follow:
        _follow(session, handle, stream, raw, tail)
    elif tail != 0:
        _print_so_far(session, job, Output(stream, tail, is_text=not raw))


def _print_so_far(session: Session, job: str, wanted: Output) -> None:
    """Bytes for bytes: the server made it readable, if that was asked for."""
    for piece in session.client.driver.iterate(streams.output(session.link, job, wanted)):
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def _follow(session: Session, job: Job, stream: str | None, raw: bool, tail: int | None) -> None:
    """From the beginning, or from the last lines on, to the end of the job."""
    reader, position = Reader(sys.stdout.write), 0
    if tail is not None:
        written, position = session.run(streams.last_lines(session.link, job.id, stream, max(tail, 1)))
        _show(reader, "", written if tail else b"", raw)
        reader.end()
    for event in job.events(after=position):
        if not _is_of(event, stream):
            continue
        if event.output is not None:
            _show(reader, str(event.data.get("stream")), event.output, raw)
        elif event.type == "output.dropped" and not raw:
            reader.end()
            print(f"[{event.data.get('bytes')} bytes of {plain(event.data.get('stream'))} were not kept]", flush=True)
    reader.end()
    sys.stdout.flush()


def _show(reader: Reader, stream: str, written: bytes, raw: bool) -> None:
    if raw:
        sys.stdout.buffer.write(written)
    else:
        reader.feed(stream, written)
    sys.stdout.flush()


def _as_records(session: Session, job: Job, stream: str | None, follow: bool) -> None:
    events = job.events() if follow else session.run(streams.events_so_far(session.link, job.id))
    for event in events:
        if event.type in {"output.chunk", "output.dropped"} and _is_of(event, stream):
            session.out.record(event.raw)


def _is_of(event: Event, stream: str | None) -> bool:
    return stream is None or event.data.get("stream") == stream
