"""What every command that talks to a server has in common: where the server is, what the user sees, how errors end.

`connected` gives a command its `Session` and the options `--data --url --project --json`, and turns every error of the
client into one line, a remedy where there is one, and an exit code.
"""

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeGuard, TypeVar

import typer

from ringback.cli.arguments import ArgumentError
from ringback.cli.exits import Exit, exit_for
from ringback.cli.terminal import Terminal, report
from ringback.client.blocking import Ringback
from ringback.client.errors import RingbackError, UnreachableError
from ringback.client.exchange import Link, Steps
from ringback.client.plainwire import PlainWire
from ringback.client.retry import HASTY, PATIENT, RetryPolicy
from ringback.settings.connection import find_connection, is_loopback
from ringback.settings.errors import SettingsError

P = ParamSpec("P")
T = TypeVar("T")

DataOption = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="The data folder.")]
UrlOption = Annotated[str | None, typer.Option("--url", metavar="URL", help="The server's address.")]
ProjectOption = Annotated[str | None, typer.Option("--project", metavar="SLUG", help="The project.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON, or JSON lines when following.")]


@dataclass
class Session:
    """One command's server and terminal."""

    out: Terminal
    data: Path | None = None
    url: str | None = None
    project: str | None = None
    retry: RetryPolicy = HASTY
    _client: Ringback | None = field(default=None, repr=False)

    @property
    def client(self) -> Ringback:
        """The client, made on first use."""
        if self._client is None:
            connection = find_connection(url=self.url, project=self.project, data=self.data)
            wire = PlainWire(connection.url) if _is_plain(connection.url) else None
            self._client = Ringback(self.url, project=self.project, data=self.data, retry=self.retry, wire=wire)
            self._client.link = replace(self._client.link, source="cli")
        return self._client

    @property
    def link(self) -> Link:
        """For operations that the client has no method for."""
        return self.client.link

    def run(self, steps: Steps[T]) -> T:
        """Carry out an operation."""
        return self.client.driver.run(steps)

    def knows_of(self, *job_ids: str) -> None:
        """These jobs' ends were shown here: nothing needs to be told of them elsewhere."""
        with suppress(RingbackError):  # a notice too many is no failure
            self.client.acknowledge(runs=job_ids)

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None


def connected(*, patient: bool = False) -> Callable[[Callable[Concatenate[Session, P], None]], Callable[..., None]]:
    """Make a command of a function that takes a `Session` first. `patient` ones outlast a restart of the server."""

    def decorate(command: Callable[Concatenate[Session, P], None]) -> Callable[..., None]:
        body: Callable[..., None] = command

        def invoked(
            data: DataOption = None,
            url: UrlOption = None,
            project: ProjectOption = None,
            json: JsonFlag = False,
            **arguments: Any,
        ) -> None:
            session = Session(Terminal(json_mode=json), data, url, project, PATIENT if patient else HASTY)
            guarded(session, lambda: body(session, **arguments))

        return _with_signature_of(command, invoked)

    return decorate


def guarded(session: Session, act: Callable[[], None]) -> None:
    """Run a command's body; every expected error ends the process with its code."""
    try:
        try:
            act()
        except UnreachableError as error:
            if not _was_started_on_request(session, error):
                raise
            act()
    except RingbackError as error:
        report(session.out, str(error), code=error.code, error=error)
        raise typer.Exit(exit_for(error)) from None
    except (SettingsError, ArgumentError) as error:
        report(session.out, str(error), code=error.code)
        raise typer.Exit(Exit.USAGE) from None
    except BrokenPipeError:
        sys.stdout = None  # whoever read is gone; nothing may be flushed at exit
        raise typer.Exit(Exit.DONE) from None
    finally:
        session.close()


def _is_plain(url: str | None) -> TypeGuard[str]:
    """Whether the address is a server on this machine, without encryption."""
    return url is not None and url.startswith("http://") and is_loopback(url)


def _was_started_on_request(session: Session, error: UnreachableError) -> bool:
    """Offer a person at a terminal to start the local server in the background."""
    connection = session.client.connection
    is_local = connection.url is None or connection.is_local
    if not is_local or session.out.json_mode or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    if not typer.confirm(f"{error}\nStart one in the background now?", default=True, err=True):
        return False
    from ringback.cli.background import start_detached

    ready = start_detached({"data": session.data})
    session.out.note(f"started: {ready['url']}")
    session.close()
    return True


def _with_signature_of(command: Callable[..., None], invoked: Callable[..., None]) -> Callable[..., None]:
    """Typer reads signatures: those of `command` without its session, followed by the shared options."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = [one for one in inspect.signature(invoked).parameters.values() if one.kind is not one.VAR_KEYWORD]
    keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in [*own, *shared]]
    invoked.__dict__["__signature__"] = inspect.Signature(keyword_only)
    invoked.__annotations__ = {one.name: one.annotation for one in keyword_only}
    invoked.__name__, invoked.__doc__ = command.__name__, command.__doc__
    return invoked
