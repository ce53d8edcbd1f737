"""`start` and `run`: turn words into a job. `run` then follows it; the work itself never lives in this process."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from ringback.cli.arguments import read_arguments
from ringback.cli.completion import job_ids, tool_names
from ringback.cli.exits import Exit, exit_of
from ringback.cli.moments import parse_not_before, seconds_of
from ringback.cli.session import Session, connected
from ringback.client.blocking import Job
from ringback.client.catalogue import STABLE
from ringback.client.errors import NotFoundError

GRANT = "grant:"

ToolArgument = Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.", autocompletion=tool_names)]
WordsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Arguments; KEY:=JSON for exact JSON.")
]
ArgsOption = Annotated[str | None, typer.Option("--args", metavar="JSON", help="The whole arguments object.")]
KeyOption = Annotated[str | None, typer.Option("--key", help="Idempotency key: the same key starts the job once.")]
DependsOption = Annotated[
    list[str] | None,
    typer.Option("--depends-on", metavar="JOB", help="Only after this job is done.", autocompletion=job_ids),
]
TimeoutOption = Annotated[str | None, typer.Option("--timeout", metavar="TIME", help="Limit of an attempt, e.g. 10m.")]
NotBeforeOption = Annotated[
    str | None,
    typer.Option("--not-before", metavar="WHEN", help="2027-03-28T02:30:00+01:00 (with offset), or 'in 5m'."),
]
PriorityOption = Annotated[int | None, typer.Option("--priority", help="Higher runs earlier.")]
TotalOption = Annotated[
    str | None, typer.Option("--total-timeout", metavar="TIME", help="Limit from now to its end, waiting included.")
]
RunOnOption = Annotated[
    str | None, typer.Option("--run-on", metavar="WHEN", help="After --depends-on: success (default), or always.")
]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="A label to find the job by.")]


@connected()
def start(
    session: Session,
    tool: ToolArgument,
    words: WordsArgument = None,
    args: ArgsOption = None,
    key: KeyOption = None,
    depends_on: DependsOption = None,
    run_on: RunOnOption = None,
    timeout: TimeoutOption = None,
    total_timeout: TotalOption = None,
    not_before: NotBeforeOption = None,
    priority: PriorityOption = None,
    tag: TagOption = None,
) -> None:
    """Start a job and print its id. It goes on whatever becomes of this terminal."""
    options = _options(key, depends_on, run_on, timeout, total_timeout, not_before, priority, tag)
    job = _started(session, tool, words or [], args, options)
    if session.out.json_mode:
        session.out.document(job.status().raw)
    else:
        session.out.line(job.id)
        if job.is_replay:
            session.out.note("This key had started the job before; nothing new was started.")


@connected(patient=True)
def run(
    session: Session,
    tool: ToolArgument,
    words: WordsArgument = None,
    args: ArgsOption = None,
    key: KeyOption = None,
    depends_on: DependsOption = None,
    run_on: RunOnOption = None,
    timeout: TimeoutOption = None,
    total_timeout: TotalOption = None,
    not_before: NotBeforeOption = None,
    priority: PriorityOption = None,
    tag: TagOption = None,
    output: Annotated[bool, typer.Option("--output", "-o", help="Show what it writes, too.")] = False,
) -> None:
    """Start a job, follow it, and exit with how it ended. Ctrl-C stops following, not the job."""
    from ringback.cli.following import follow

    options = _options(key, depends_on, run_on, timeout, total_timeout, not_before, priority, tag)
    job = _started(session, tool, words or [], args, options)
    try:
        ended = follow(session, job, show_output=output)
    except KeyboardInterrupt:
        session.out.note(
            f"\nDetached; {job.id} goes on. Follow: ringback logs -f {job.id}. Stop: ringback stop {job.id}"
        )
        raise typer.Exit(Exit.DETACHED) from None
    raise typer.Exit(exit_of(ended))


def _started(session: Session, tool: str, words: list[str], whole: str | None, options: dict[str, Any]) -> Job:
    schema = _schema(session, tool) if words else {}
    return session.client.start(tool, read_arguments(words, schema, whole), **options)


def _schema(session: Session, name: str) -> Mapping[str, Any]:
    """What the tool wants; what a grant stands for is its giver's to know, so its words are sent as they are."""
    try:
        return session.client.tool(name).input_schema
    except NotFoundError:
        if name.startswith(GRANT):
            return {}
        alias = next((each for each in session.client.aliases.list() if each["alias"] == name), None)
        if alias is None:
            raise
    if "grantId" in alias:
        return {}
    channel = str(alias.get("releaseChannel", STABLE))
    pointing = {each["channel"]: each.get("revisionId") for each in session.client.resources.channels(alias["name"])}
    revision = session.client.resources.revision(alias["name"], str(pointing.get(channel)))
    schema: Mapping[str, Any] = revision["definition"].get("inputSchema", {})
    return schema


def _options(
    key: str | None,
    depends_on: list[str] | None,
    run_on: str | None,
    timeout: str | None,
    total_timeout: str | None,
    not_before: str | None,
    priority: int | None,
    tag: list[str] | None,
) -> dict[str, Any]:
    return {
        "idempotency_key": key,
        "depends_on": depends_on or (),
        "run_on": run_on,
        "timeout": None if timeout is None else seconds_of(timeout),
        "total_timeout": None if total_timeout is None else seconds_of(total_timeout),
        "not_before": None if not_before is None else parse_not_before(not_before, datetime.now(UTC)),
        "priority": priority,
        "tags": tag or (),
    }
