"""`script …`: keep Python under a name in the project, and try it out."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ringback.cli.arguments import ArgumentError, read_arguments, read_json
from ringback.cli.coercion import QuickCommand, QuickGroup
from ringback.cli.exits import Exit
from ringback.cli.moments import seconds_of
from ringback.cli.session import Session, connected
from ringback.cli.terminal import plain

app = typer.Typer(
    cls=QuickGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Keep scripts in the project and try them out.",
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The script's name.")]
STDIN = "-"
EXITS = {"succeeded": Exit.DONE, "cancelled": Exit.CANCELLED}
TIMED_OUT = ("timeout", "expired")


@app.command("put", cls=QuickCommand)
@connected()
def put(
    session: Session,
    name: NameArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Its source, in UTF-8; - reads stdin.")],
    description: Annotated[str, typer.Option(help="What it does.")] = "",
    schema: Annotated[str | None, typer.Option(metavar="JSON", help="JSON Schema of its arguments.")] = None,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Limit of an attempt, e.g. 10m.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Limit of its memory, e.g. 512MiB.")] = None,
    cpu: Annotated[str | None, typer.Option(metavar="TIME", help="Limit of processor time, e.g. 30s.")] = None,
    pool: Annotated[str | None, typer.Option(help="The pool of workers that runs it.")] = None,
) -> None:
    """Make a file the current revision of a script. Limits that are not given are the usual ones."""
    kept = session.client.scripts.put(
        name,
        _source(file),
        description=description,
        input_schema=None if schema is None else read_json(schema, "--schema"),
        timeout_seconds=None if timeout is None else seconds_of(timeout),
        memory_bytes=None if memory is None else _bytes(memory),
        cpu_seconds=None if cpu is None else round(seconds_of(cpu)),
        pool=pool,
    )
    if session.out.json_mode:
        session.out.document(kept)
    session.out.line(f"kept {kept['name']}, revision {kept['revision_id']}")


def _source(file: str) -> str:
    try:
        return (sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()).decode()
    except OSError as error:
        raise ArgumentError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ArgumentError(f"{file}: not UTF-8") from None


def _bytes(text: str) -> int:
    from ringback.toolfile.sizes import parse_size

    try:
        return parse_size(int(text) if text.isdecimal() else text)
    except ValueError as error:
        raise ArgumentError(f"--memory: {error}") from None


@app.command("list", cls=QuickCommand)
@connected()
def list_scripts(session: Session) -> None:
    """List the project's scripts."""
    found = session.client.scripts.list()
    if session.out.json_mode:
        session.out.document({"scripts": list(found)})
        return
    rows = [(each["name"], each["revision_id"], each["description"]) for each in found]
    session.out.table(("SCRIPT", "REVISION", "DESCRIPTION"), rows)


@app.command("show", cls=QuickCommand)
@connected()
def show(session: Session, name: NameArgument) -> None:
    """Print a script's source; with --json all about it."""
    found = session.client.scripts.get(name)
    if session.out.json_mode:
        session.out.document(found)
        return
    source = found["source"]
    sys.stdout.buffer.write(source.encode() if source.endswith("\n") else f"{source}\n".encode())
    sys.stdout.flush()


@app.command("test", cls=QuickCommand)
@connected(patient=True)
def test(
    session: Session,
    name: NameArgument,
    args: Annotated[str | None, typer.Option("--args", metavar="JSON", help="The arguments object.")] = None,
    detached: Annotated[bool, typer.Option("--detached", help="Print the run's id and do not wait.")] = False,
) -> None:
    """Run a script, print its run, and exit with how it ended."""
    arguments = None if args is None else read_arguments((), {}, args)
    run = session.client.scripts.test(name, arguments, detached=detached)
    if session.out.json_mode:
        session.out.document(run)
    elif detached:
        session.out.line(plain(run["run_id"]))
    else:
        _print(session, run)
    if not detached:
        raise typer.Exit(_exit_of(run))


def _print(session: Session, run: Mapping[str, Any]) -> None:
    """The status on stderr, so that stdout is what the script returned."""
    said = " ".join(plain(run[key]) for key in ("error_kind", "error_message") if key in run)
    session.out.note("  ".join(part for part in (plain(run["id"]), plain(run["status"]), said) if part))
    if "output" in run:
        output = run["output"]
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)
        print(text, end="" if text.endswith("\n") else "\n", flush=True)


def _exit_of(run: Mapping[str, Any]) -> Exit:
    is_late = run.get("error_kind") in TIMED_OUT
    return EXITS.get(run["status"], Exit.TIMED_OUT if is_late else Exit.FAILED)


@app.command("delete", cls=QuickCommand)
@connected()
def delete(session: Session, name: NameArgument) -> None:
    """Take a script back. Its runs stay and go on."""
    session.client.scripts.delete(name)
    if session.out.json_mode:
        session.out.document({"deleted": name})
    session.out.line(f"{name} deleted")


@app.command("publish", cls=QuickCommand)
@connected()
def publish(
    session: Session,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Where requests come in: /x/PROJECT/PATH.")],
    target: Annotated[str, typer.Argument(metavar="NAME", help="The script or tool that answers them.")],
) -> None:
    """Publish a script or a tool as an endpoint, or another one than before under the same path."""
    made = session.client.scripts.publish(path, target)
    if session.out.json_mode:
        session.out.document(made)
    session.out.line(made["url"])


@app.command("endpoints", cls=QuickCommand)
@connected()
def endpoints(session: Session) -> None:
    """List what is published."""
    found = session.client.scripts.endpoints()
    if session.out.json_mode:
        session.out.document({"endpoints": list(found)})
        return
    session.out.table(("PATH", "NAME", "URL"), [(each["path"], each["target"], each["url"]) for each in found])


@app.command("unpublish", cls=QuickCommand)
@connected()
def unpublish(
    session: Session, path: Annotated[str, typer.Argument(metavar="PATH", help="As it was published.")]
) -> None:
    """Take an endpoint back."""
    session.client.scripts.unpublish(path)
    if session.out.json_mode:
        session.out.document({"unpublished": path})
    session.out.line(f"{path} is no longer published")
