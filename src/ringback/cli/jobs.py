"""Commands that ask about jobs, or end them, and return: list, result, stop, wait, replay."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from ringback.cli.completion import job_ids, tool_names
from ringback.cli.exits import Exit, exit_of
from ringback.cli.moments import lasted, relative, seconds_of
from ringback.cli.session import Session, connected
from ringback.cli.terminal import plain
from ringback.client.records import JobResult, JobSnapshot

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job's id.", autocompletion=job_ids)]
JobsArgument = Annotated[list[str], typer.Argument(metavar="JOB...", help="Ids of jobs.", autocompletion=job_ids)]


@connected()
def list_jobs(
    session: Session,
    status: Annotated[
        str | None, typer.Option(help="Only queued, running, done, failed, cancelled or active; several with commas.")
    ] = None,
    tool: Annotated[str | None, typer.Option(help="Only of this tool.", autocompletion=tool_names)] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
) -> None:
    """List jobs, newest first."""
    found = list(session.client.jobs(status=status, tool=tool, limit=limit))
    if session.out.json_mode:
        session.out.document({"jobs": [job.raw for job in found]})
        return
    if not found:
        session.out.note("No jobs.")
        return
    session.out.table(("JOB", "STATUS", "TOOL", "CREATED", "TOOK", "SUMMARY"), map(_row, found), colours=1)


def _row(job: JobSnapshot) -> tuple[str, ...]:
    now = datetime.now(UTC)
    word = "timed out" if job.is_timed_out else job.status
    took = lasted(job.started_at, job.finished_at or (now if job.started_at else None))
    return job.job_id, word, job.tool or "", relative(job.created_at, now), took, said_by(job)


def said_by(job: JobSnapshot) -> str:
    """One line about how a job stands: its summary, else what went wrong, else how far it is."""
    if job.summary or job.error_message:
        return plain(job.summary or job.error_message)
    if job.progress is None or job.is_final:
        return ""
    return progress_text(job.progress.done, job.progress.total, job.progress.message)


def progress_text(done: Any, total: Any, message: Any) -> str:
    """`3/10 linking`, with whatever of it there is."""
    count = "" if done is None else f"{done}/{total}" if total is not None else str(done)
    return " ".join(part for part in (count, plain(message or "")) if part)


@connected()
def result(
    session: Session,
    job: JobArgument,
    partial: Annotated[bool, typer.Option("--partial", help="What there is so far, of an active job too.")] = False,
) -> None:
    """Print what a job returned, as JSON unless it is text; for a command, what it wrote."""
    found = session.client.job(job).result(partial=partial)
    if session.out.json_mode:
        session.out.document(found.raw)
        return
    for item in found.items or ():
        session.out.record(item)
    if found.has_value and not _is_of_command(found):
        text = found.value if isinstance(found.value, str) else json.dumps(found.value, ensure_ascii=False, indent=2)
        _print_text(text)
    elif found.items is None:
        _print_text(found.output)
    if found.error is not None:
        session.out.note(f"{plain(found.error.get('kind'))}: {plain(found.error.get('message'))}")
    if not found.is_complete:
        session.out.note("This is not all: the job goes on.")


def _is_of_command(found: JobResult) -> bool:
    """A command returns its exit code; what people want to see is what it wrote."""
    return bool(found.value == {"exitCode": found.exit_code})


def _print_text(text: str) -> None:
    if text:
        print(text, end="" if text.endswith("\n") else "\n", flush=True)


@connected()
def stop(
    session: Session,
    jobs: JobsArgument,
    reason: Annotated[str | None, typer.Option(help="Kept with the job.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Return when they have ended.")] = False,
) -> None:
    """Ask jobs to stop. Stopping a finished job changes nothing."""
    asked = [session.client.job(job).stop(reason) for job in jobs]
    if wait:
        asked = [session.client.job(job.job_id).wait() for job in asked]
    _print_states(session, asked)


@connected(patient=True)
def wait(
    session: Session,
    jobs: JobsArgument,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="At most so long, e.g. 90s or 5m.")] = None,
) -> None:
    """Wait for jobs, and exit with how they ended: 0 when all are done, else as the first other one; 4 when the time is up."""
    within_s = None if timeout is None else seconds_of(timeout)
    ended = [session.client.job(job).wait(within_s) for job in jobs]
    _print_states(session, ended)
    session.knows_of(*(job.job_id for job in ended))
    raise typer.Exit(next((code for code in map(exit_of, ended) if code is not Exit.DONE), Exit.DONE))


def _print_states(session: Session, jobs: Iterable[JobSnapshot]) -> None:
    found = list(jobs)
    if session.out.json_mode:
        session.out.document(found[0].raw if len(found) == 1 else {"jobs": [job.raw for job in found]})
    for job in found:
        word = "timed out" if job.is_timed_out else job.status
        session.out.line("  ".join(part for part in (job.job_id, session.out.status(word), said_by(job)) if part))


@connected()
def replay(session: Session, job: JobArgument) -> None:
    """Rebuild a job's output from its events and compare. Exits 0 when it is identical to what is stored."""
    found = session.client.job(job).replay()
    if session.out.json_mode:
        session.out.document({"identical": found.is_identical, "projection": found.projection})
    else:
        session.out.line("identical" if found.is_identical else "DIFFERENT: the events tell another story")
        session.out.line(json.dumps(found.projection, ensure_ascii=False, indent=2, sort_keys=True))
    raise typer.Exit(Exit.DONE if found.is_identical else Exit.FAILED)
