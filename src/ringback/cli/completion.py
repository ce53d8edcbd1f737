"""What the shell offers after Tab: ids of jobs and names of tools, asked of the server within a blink or not at all.

A completion never fails, never retries and never prints: with no server there is nothing to offer.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ringback.client.blocking import Ringback

ANSWER_WITHIN_S = 0.7
OFFERED_MAX = 30


def job_ids(incomplete: str) -> list[tuple[str, str]]:
    """The latest jobs, with tool and status as help."""

    def ask(client: "Ringback") -> Iterable[tuple[str, str]]:
        jobs = client.jobs(limit=OFFERED_MAX)
        return ((job.job_id, f"{job.tool or ''} {job.status}".strip()) for job in jobs)

    return _offered(ask, incomplete)


def tool_names(incomplete: str) -> list[tuple[str, str]]:
    """The tools, with their descriptions."""

    def ask(client: "Ringback") -> Iterable[tuple[str, str]]:
        return ((tool.name, tool.description) for tool in client.tools())

    return _offered(ask, incomplete)


def _offered(ask: Callable[["Ringback"], Iterable[tuple[str, str]]], incomplete: str) -> list[tuple[str, str]]:
    """Run `ask` beside us and take what is there when the time is up; the thread does not keep the process alive."""
    from threading import Thread

    from ringback.cli.session import Session
    from ringback.cli.terminal import Terminal
    from ringback.client.errors import RingbackError
    from ringback.client.retry import RetryPolicy

    session = Session(Terminal(json_mode=True), retry=RetryPolicy(tries_max=1))
    found: list[tuple[str, str]] = []

    def fill() -> None:
        try:
            found.extend(ask(session.client))
        except (RingbackError, ValueError):
            return

    thread = Thread(target=fill, daemon=True)
    thread.start()
    thread.join(ANSWER_WITHIN_S)
    return [(value, text) for value, text in list(found) if value.startswith(incomplete)]
