"""`ringback`: the list of commands, and nothing of what they do.

A command's module is imported when the command is called, so `ringback list` pays for listing and not for serving. The
help of the whole is written from the catalogue below; a test keeps it equal to what each command says of itself.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from ringback import __version__
from ringback.cli.coercion import QuickCommand, QuickGroup


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: its module and function in this package, and its line in the help."""

    module: str
    function: str
    help: str
    forwards: bool = False  # the arguments are somebody else's to read


CATALOGUE: Mapping[str, Mapping[str, Entry]] = {
    "Server": {
        "up": Entry("up", "up", "Start a server and a local worker."),
        "down": Entry("down", "down", "Stop the server that runs on the data folder."),
        "worker": Entry("worker", "worker", "Run a worker that takes work from a server.", forwards=True),
        "token": Entry("token", "app", "Print the local owner's token, or make, list and revoke tokens."),
        "mcp": Entry("mcp", "app", "Serve MCP over stdio."),
        "wrap": Entry("wrap", "app", "Serve an MCP server's tools over stdio as jobs."),
        "doctor": Entry("doctor", "doctor", "Check this installation and say how to mend it."),
        "db": Entry("db", "app", "Back up, check, migrate, rebuild and tidy the ledger."),
    },
    "Tools": {
        "init": Entry("tools", "init", "Write a ringback.toml for this folder."),
        "apply": Entry("tools", "apply", "Make the tools of ringback.toml current."),
        "tools": Entry("tools", "tools", "List the tools that can be started."),
        "script": Entry("script", "app", "Keep scripts in the project and try them out."),
        "resources": Entry("resources", "resources", "List the resources of every kind."),
        "revisions": Entry("resources", "revisions", "List a resource's revisions, newest first."),
        "release": Entry("resources", "release", "Point a release channel at a revision."),
        "rollback": Entry("resources", "rollback", "Take back a release channel's last switch."),
        "alias": Entry("alias", "app", "Make, list and remove names that stand for resources."),
    },
    "Jobs": {
        "start": Entry("start", "start", "Start a job and print its id."),
        "run": Entry("start", "run", "Start a job, follow it, and exit with how it ended."),
        "list": Entry("jobs", "list_jobs", "List jobs, newest first."),
        "show": Entry("show", "show", "Show all about one job."),
        "logs": Entry("logs", "logs", "Print what a job wrote."),
        "events": Entry("events", "events", "Print a job's events."),
        "result": Entry("jobs", "result", "Print what a job returned."),
        "stop": Entry("jobs", "stop", "Ask jobs to stop."),
        "inbox": Entry("inbox", "inbox", "Print what you were not told yet about jobs that you started."),
        "wait": Entry("jobs", "wait", "Wait for jobs, and exit with how they ended."),
        "answer": Entry("answer", "answer", "Answer what a job asks."),
        "withdraw": Entry("answer", "withdraw", "Take back what a job asks."),
        "tree": Entry("family", "tree", "Draw a job with everything that came from it."),
        "graph": Entry("family", "graph", "Draw all that a job hangs together with."),
        "replay": Entry("jobs", "replay", "Rebuild a job's output from its events and compare."),
    },
    "Inside a job": {
        "ask": Entry("ask", "ask", "Ask people something from inside a job, and wait for the answer."),
        "progress": Entry("progress", "progress", "Tell from inside a job how far it is."),
    },
    "Access": {
        "project": Entry("project", "app", "Make and list projects."),
        "member": Entry("member", "app", "Add, list and remove a project's members."),
        "org": Entry("org", "app", "Make and list organizations."),
        "user": Entry("user", "app", "List users, and say who administers the installation."),
        "share": Entry("share", "app", "Make, list and revoke links that open the status of one job."),
        "grant": Entry("grant", "app", "Let other projects call resources of this one."),
        "audit": Entry("audit", "audit", "List who changed what, newest first."),
    },
    "Workers and queues": {
        "workers": Entry("workers", "workers", "List the attached workers."),
        "pause": Entry("workers", "pause", "Hand out nothing more of a pool."),
        "resume": Entry("workers", "resume", "Hand out work of a pool again."),
    },
}
ENTRIES = {name: entry for panel in CATALOGUE.values() for name, entry in panel.items()}


class Commands(QuickGroup):
    """Knows all commands by name, and loads the one that is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of the catalogue."""
        return list(ENTRIES)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:
        """For help and completion: the name and its line, nothing loaded."""
        entry = ENTRIES.get(cmd_name)
        return None if entry is None else TyperCommand(cmd_name, help=entry.help)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """For calling: the real one."""
        if args and args[0] in ENTRIES:
            return args[0], load(args[0]), args[1:]
        self.commands = dict.fromkeys(ENTRIES, TyperCommand(None))  # for the suggestion of a near name
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """One section a panel."""
        for panel, entries in CATALOGUE.items():
            with formatter.section(panel):
                formatter.write_dl([(name, entry.help) for name, entry in entries.items()])


def load(name: str) -> Any:
    """The command of that name, ready to be called."""
    entry = ENTRIES[name]
    target: typer.Typer | Callable[..., Any] = getattr(import_module(f"ringback.cli.{entry.module}"), entry.function)
    if isinstance(target, typer.Typer):
        return get_command(target)
    home = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    foreign: dict[str, Any] = {"ignore_unknown_options": True, "allow_extra_args": True}
    settings = foreign if entry.forwards else {"max_content_width": 100}
    home.command(name, cls=QuickCommand, context_settings=settings, add_help_option=not entry.forwards)(target)
    return get_command(home)


app = typer.Typer(
    cls=Commands,
    name="ringback",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100, "help_option_names": ["--help", "-h"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ringback {__version__}")
        raise typer.Exit


@app.callback()
def ringback(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Durable asynchronous jobs: start work, hang up, be rung back.

    Exit codes: 0 done, 1 failed, 2 usage, 3 cancelled, 4 timed out, 5 server unreachable, 6 not allowed or not found.
    """


def main() -> None:
    """The entry point of the installed command."""
    try:
        app(prog_name="ringback")
    except KeyboardInterrupt:
        sys.exit(130)
