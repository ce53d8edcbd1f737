"""`db …`: care for the ledger. A backup works while the server runs; what changes the file asks for the server to be down.

The work itself is the store's; this module is imported by nobody but the command line, and imports the store only when
a command needs it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ringback.cli.coercion import QuickCommand, QuickGroup
from ringback.cli.exits import Exit
from ringback.cli.lock import holder_of
from ringback.cli.session import DataOption, JsonFlag
from ringback.cli.terminal import Terminal, plain, report
from ringback.settings.connection import find_connection
from ringback.settings.places import Places

app = typer.Typer(
    cls=QuickGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Back up, check, migrate, rebuild and tidy the ledger.",
)


@app.command(cls=QuickCommand)
def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes; it must not exist.")],
    data: DataOption = None,
    json: JsonFlag = False,
) -> None:
    """Copy the ledger to FILE, whole and consistent, while the server runs or not."""
    out, places = _ledger(data, json)
    file = target.expanduser().absolute()
    if file.exists():
        _fail(out, f"{file} exists already", "file_exists")
    _attempt(out, lambda store: store.backup(places.data, file))
    _done(out, {"file": str(file), "bytes": file.stat().st_size}, f"wrote {file} ({file.stat().st_size} bytes)")


@app.command(cls=QuickCommand)
def check(data: DataOption = None, json: JsonFlag = False) -> None:
    """Check the ledger's integrity. Exits 1 when something is wrong."""
    out, places = _ledger(data, json)
    problems = [str(problem) for problem in _attempt(out, lambda store: store.check(places.data)) or ()]
    _done(out, {"sound": not problems, "problems": problems}, "the ledger is sound" if not problems else "")
    for problem in problems:
        out.line(plain(problem))
    raise typer.Exit(Exit.FAILED if problems else Exit.DONE)


@app.command(cls=QuickCommand)
def migrate(data: DataOption = None, json: JsonFlag = False) -> None:
    """Bring the ledger to this version's form. The server does so by itself when it starts."""
    out, places = _ledger(data, json)
    _needs_rest(out, places)
    applied = _attempt(out, lambda store: store.migrate(places.data))
    _done(out, {"applied": applied}, "the ledger is up to date")


@app.command(cls=QuickCommand)
def rebuild(
    check: Annotated[bool, typer.Option("--check", help="Only tell what differs; exit 1 when something does.")] = False,
    data: DataOption = None,
    json: JsonFlag = False,
) -> None:
    """Make the rows of all runs again from their events. Exits 1 when something differs that stays."""
    out, places = _ledger(data, json)
    _needs_rest(out, places)
    done = _attempt(out, lambda store: store.rebuild(places.data, is_check=check))
    stays = done.differences if check else done.left
    corrected = len(done.differences) - len(stays)
    document = {
        "runs": done.runs,
        "corrected": corrected,
        "differences": [
            {"run_id": each.run_id, "what": each.what, "row": each.row, "events": each.events, "left": each.why}
            for each in done.differences
        ],
    }
    _done(out, document, f"{done.runs} runs, {corrected} differences corrected, {len(stays)} left as they are")
    for each in done.differences:
        out.line(plain(str(each)))
    raise typer.Exit(Exit.FAILED if stays else Exit.DONE)


@app.command(cls=QuickCommand)
def vacuum(data: DataOption = None, json: JsonFlag = False) -> None:
    """Give space that is no longer used back to the file system."""
    out, places = _ledger(data, json)
    _needs_rest(out, places)
    before = places.database.stat().st_size
    _attempt(out, lambda store: store.vacuum(places.data))
    after = places.database.stat().st_size
    _done(out, {"bytes_before": before, "bytes_after": after}, f"{before} bytes before, {after} after")


def _ledger(data: Path | None, json: bool) -> tuple[Terminal, Places]:
    out = Terminal(json_mode=json)
    places = find_connection(data=data).places
    if not places.database.exists():
        _fail(out, f"no ledger in {places.data}", "not_found", Exit.NOT_ALLOWED)
    return out, places


def _needs_rest(out: Terminal, places: Places) -> None:
    if (pid := holder_of(places.supervisor)) is not None:
        _fail(out, f"the server is using it (pid {pid}): stop it first with `ringback down`", "ledger_in_use")


def _attempt(out: Terminal, act: Callable[[Any], Any]) -> Any:
    """Let the store do it; what it refuses is told in one line."""
    from ringback.domain.errors import RingbackError
    from ringback.store import maintenance

    try:
        return act(maintenance)
    except (RingbackError, OSError) as refused:
        _fail(out, str(refused), getattr(refused, "code", "failed"))


def _done(out: Terminal, document: dict[str, Any], text: str) -> None:
    if out.json_mode:
        out.document(document)
    elif text:
        out.line(text)


def _fail(out: Terminal, message: str, code: str, exit_code: Exit = Exit.FAILED) -> None:
    report(out, message, code=code)
    raise typer.Exit(exit_code)
