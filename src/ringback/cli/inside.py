"""What the commands that run inside a job have in common: the server of the attempt, its token, and much patience.

They outlast a restart of the server: the attempt around them ends them when it ends.
"""

from collections.abc import Callable

from ringback.cli.session import Session, guarded
from ringback.cli.terminal import Terminal
from ringback.client.blocking import Ringback
from ringback.client.errors import ConflictError, InvalidInputError, NotFoundError, UnauthorizedError
from ringback.client.plainwire import PlainWire
from ringback.client.retry import RetryPolicy
from ringback.settings.attempt import find_attempt
from ringback.settings.connection import is_loopback

DOGGED = RetryPolicy(tries_max=2_000)
HURRIED = RetryPolicy(tries_max=3, longest_s=0.5)
OVER = frozenset({"unauthenticated", "stale_fence"})


class AttemptOverError(NotFoundError):
    """The attempt that this command belongs to is over; nobody waits for what it asks."""

    def __str__(self) -> str:
        return "this attempt is over, or its token is not the one in RINGBACK_RUN_TOKEN"


class NotAskedError(InvalidInputError):
    """The question can't be asked now: another one blocks the run, or the run is to stop."""


def inside(command: str, act: Callable[[Session, Ringback], None], *, json_mode: bool, dogged: bool = True) -> None:
    """Run the body of a command with a client that holds the attempt's token."""
    session = Session(Terminal(json_mode=json_mode))

    def body() -> None:
        where = find_attempt(command)
        wire = PlainWire(where.url) if where.url.startswith("http://") and is_loopback(where.url) else None
        retry = DOGGED if dogged else HURRIED
        with Ringback(where.url, token=where.token, retry=retry, wire=wire) as client:
            try:
                act(session, client)
            except (UnauthorizedError, ConflictError) as error:
                kind = AttemptOverError if error.code in OVER else NotAskedError
                raise kind(error.status, error.problem) from None

    guarded(session, body)
