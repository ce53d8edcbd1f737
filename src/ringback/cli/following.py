"""Following one job to its end: a line that moves on a terminal, plain lines in a pipe, JSON lines for programs."""

import sys
from typing import Any

from ringback.cli.jobs import progress_text
from ringback.cli.notice import completion
from ringback.cli.output import Reader
from ringback.cli.session import Session
from ringback.cli.terminal import plain
from ringback.client.blocking import Job
from ringback.client.records import Event, JobSnapshot

WORDS = {"running": "running", "retrying": "waiting to try again", "canceling": "stopping"}  # others need no line


def follow(session: Session, job: Job, *, show_output: bool) -> JobSnapshot:
    """Show the job's progress until it ends, then its completion event."""
    view = _view(session, job, show_output)
    last: Event | None = None
    try:
        view.begin()
        for event in job.events():
            last = event
            view.show(event)
    finally:
        view.end()
    ended = job.wait()
    if session.out.json_mode:
        session.out.record(ended.raw)
    else:
        session.out.line(completion(ended, last))
    session.knows_of(ended.job_id)
    return ended


def _view(session: Session, job: Job, show_output: bool) -> "Lines":
    if session.out.json_mode:
        return Records(session, job, show_output)
    is_terminal = sys.stderr.isatty() and session.out.is_interactive
    return Moving(session, job, show_output) if is_terminal else Lines(session, job, show_output)


class Lines:
    """One line a change, on stderr: stdout keeps what the work wrote and the completion event."""

    def __init__(self, session: Session, job: Job, show_output: bool) -> None:
        """Nothing is shown yet."""
        self._out, self._job = session.out, job
        self._reader = Reader(_to_stdout) if show_output else None
        self._word, self._progress = "queued", ""

    def begin(self) -> None:
        """Name the job."""
        self._out.note(f"{self._job.id} queued")

    def show(self, event: Event) -> None:
        """Take one event in."""
        chunk = event.output
        if chunk is not None:
            self._write(str(event.data.get("stream", "stdout")), chunk)
        elif event.type == "run.status.changed":
            word = WORDS.get(str(event.data.get("status")), self._word)
            if word != self._word:
                self._word = word
                self._changed()
        elif event.type == "state.updated":
            self._progress = _progress_of(event.data)
            self._changed()

    def end(self) -> None:
        """Everything that was held back is shown."""
        if self._reader is not None:
            self._reader.end()
            sys.stdout.flush()

    def _write(self, stream: str, chunk: bytes) -> None:
        if self._reader is not None:
            self._reader.feed(stream, chunk)
            sys.stdout.flush()

    def _changed(self) -> None:
        self._out.note(" ".join(part for part in (self._job.id, plain(self._word), self._progress) if part))


class Moving(Lines):
    """One line that moves at the bottom of the terminal, with the time that has passed."""

    def begin(self) -> None:
        """Start the clock."""
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        self._display = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._display.add_task("")
        self._changed()
        self._display.start()

    def end(self) -> None:
        """Take the line away, and show everything that was held back."""
        self._display.stop()
        super().end()

    def _changed(self) -> None:
        text = " ".join(part for part in (self._job.id, plain(self._word), self._progress) if part)
        self._display.update(self._task, description=text)


class Records(Lines):
    """Every event as it is, as JSON lines."""

    def begin(self) -> None:
        """Name the job, so that a reader can stop it."""
        self._out.record({"job_id": self._job.id, "status": "queued"})

    def show(self, event: Event) -> None:
        """One line."""
        self._out.record(event.raw)

    def end(self) -> None:
        """Nothing is held back."""


def _to_stdout(text: str) -> None:
    sys.stdout.write(text)  # looked up at each call: a moving display puts its own stream there


def _progress_of(data: Any) -> str:
    progress = data.get("progress") or data
    return progress_text(progress.get("done"), progress.get("total"), progress.get("message"))
