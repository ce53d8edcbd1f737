"""Commands about what can be started: init, apply, tools."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ringback.cli.exits import Exit
from ringback.cli.session import JsonFlag, Session, connected
from ringback.cli.terminal import Terminal, plain, report
from ringback.client.records import Change

FileArgument = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="ringback.toml, or its folder.")]
SHOWN_MAX = 80
MARKS = {"added": ("+", "green"), "changed": ("~", "yellow"), "unchanged": ("=", "dim")}


@connected()
def tools(session: Session) -> None:
    """List the tools that can be started, with their arguments."""
    found = session.client.tools()
    if session.out.json_mode:
        session.out.document({"tools": [tool.raw for tool in found]})
    elif not found:
        session.out.note("No tools yet. Write a ringback.toml with `ringback init`, then `ringback apply`.")
    else:
        rows = [(tool.name, _arguments(tool.input_schema), tool.description) for tool in found]
        session.out.table(("TOOL", "ARGUMENTS", "DESCRIPTION"), rows)


def _arguments(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    names = schema.get("properties", {})
    return " ".join(name if name in required else f"[{name}]" for name in names)


@connected()
def apply(
    session: Session,
    file: FileArgument = None,
    channel: Annotated[str, typer.Option("--channel", metavar="NAME", help="The release channel.")] = "stable",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask, also at a terminal.")] = False,
) -> None:
    """Make the tools of ringback.toml current, after showing what that changes.

    At a terminal it asks before it changes anything. Jobs that exist keep the definition they were started with.

    Exit codes: 0 applied, or nothing to change; 2 the file or a definition is wrong; 3 you said no.
    """
    from ringback.toolfile import ToolFileError, load

    try:
        definitions = load(file or Path.cwd()).definitions
    except ToolFileError as broken:
        _report_problems(session.out, broken.problems)
        raise typer.Exit(Exit.USAGE) from None
    planned = session.client.apply(definitions, channel=channel, dry_run=True)
    _print_changes(session.out, planned)
    count = sum(change.change != "unchanged" for change in planned)
    if dry_run or not count:
        _conclude(session.out, planned, channel, is_dry_run=dry_run)
        return
    if not (yes or _is_agreed(session.out, count, channel)):
        session.out.note("Nothing was changed.")
        raise typer.Exit(Exit.CANCELLED)
    changes = session.client.apply(definitions, channel=channel)
    if changes != planned:
        session.out.note("Others changed the catalogue meanwhile; this is what was done:")
        _print_changes(session.out, changes)
    _conclude(session.out, changes, channel, is_dry_run=False)


def _is_agreed(out: Terminal, count: int, channel: str) -> bool:
    """Ask whoever sits at the terminal; nobody there has agreed by calling."""
    if out.json_mode or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    what = "this change" if count == 1 else f"these {count} changes"
    return typer.confirm(f"Release {what} on {channel}?", default=False, err=True)


def _conclude(out: Terminal, changes: Sequence[Change], channel: str, *, is_dry_run: bool) -> None:
    if out.json_mode:
        facts = {"changes": [each.raw for each in changes], "dryRun": is_dry_run, "releaseChannel": channel}
        out.document(facts)
        return
    count = sum(change.change != "unchanged" for change in changes)
    out.line(f"{count} of {len(changes)} {'would change' if is_dry_run else 'changed'}")


def _print_changes(out: Terminal, changes: Sequence[Change]) -> None:
    for change in changes:
        mark, style = MARKS.get(change.change, ("?", "dim"))
        kind = "" if change.kind == "tool" else f" ({plain(change.kind)})"
        out.line(out.paint(f"{mark} {plain(change.name)}{kind}", style))
        for pointer, difference in (change.diff or {}).items():
            out.line(f"    {plain(pointer)}: {_sides(difference)}")


def _sides(difference: Mapping[str, Any]) -> str:
    before, after = (_short(difference, name) for name in ("from", "to"))
    return "another value, not shown" if before == after else f"{before} → {after}"


def _short(difference: Mapping[str, Any], name: str) -> str:
    text = json.dumps(difference[name], ensure_ascii=False) if name in difference else "nothing"
    return plain(text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…")


def _report_problems(out: Terminal, problems: Sequence[object]) -> None:
    if out.json_mode:
        lines = [str(problem) for problem in problems]
        out.document(
            {"error": {"code": "tool_file_invalid", "message": lines[0], "problems": lines, "retryable": False}}
        )
        return
    for problem in problems:
        out.note(f"ringback: {plain(problem)}")


def init(
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The folder; this one if not given.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    json: JsonFlag = False,
) -> None:
    """Write a ringback.toml for this folder, with a tool for each way to test, build or lint that is found in it."""
    from ringback.toolfile import detect, write_file

    out = Terminal(json_mode=json)
    target = (folder or Path.cwd()).absolute()
    suggestions = detect(target)
    try:
        file = write_file(target, suggestions, force=force)
    except FileExistsError:
        report(out, f"{target} has a ringback.toml already; --force overwrites it", code="file_exists")
        raise typer.Exit(Exit.FAILED) from None
    except OSError as refused:
        report(out, f"ringback.toml cannot be written to {target}: {refused.strerror}", code="file_unwritable")
        raise typer.Exit(Exit.FAILED) from None
    names = [suggestion.name for suggestion in suggestions]
    if out.json_mode:
        out.document({"file": str(file), "tools": names})
    out.line(f"wrote {file}" + (f" with {', '.join(names)}" if names else "; nothing was recognised, it shows how"))
    out.line("Next: look through it, then ringback up, and ringback run TOOL")
