"""`App`: the functions of one application that are offered as tools.

    app = App()

    @app.tool(timeout=600, retry=3)
    async def crawl(ctx: Context, url: str, pages: int = 50) -> dict: ...

Decorating registers and returns the function unchanged, so it can be called and tested as before. The application is
loaded by interpreters of its own (`ringback worker module:app`), never by the worker; what the worker announces is
`App.definitions`. Deliberately absent: running anything.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, TypeVar, overload

from .schema import Signature, described_by, read_signature

Function = TypeVar("Function", bound=Callable[..., Any])
Mode = Literal["job", "task", "inline"]

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often, and after which pauses (seconds), an attempt that failed is repeated."""

    attempts: int = 3
    delay: float = 1.0
    delay_max: float = 300.0
    factor: float = 2.0
    jitter: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One function with what is known about it."""

    name: str
    function: Callable[..., Any]
    signature: Signature
    definition: Mapping[str, Any]


class App:
    """A set of tools.

    Args:
        pool: the pool of workers that carries them out, unless a tool says otherwise.
        secrets: names of environment variables of the worker whose values are masked in all that leaves a tool.
    """

    def __init__(self, *, pool: str = "default", secrets: Iterable[str] = ()) -> None:
        self.tools: dict[str, Tool] = {}
        self._pool = pool
        self._secrets = list(secrets)

    @overload
    def tool(self, function: Function, /) -> Function: ...
    @overload
    def tool(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | timedelta | None = None,
        idle_timeout: float | timedelta | None = None,
        queue_timeout: float | timedelta | None = None,
        total_timeout: float | timedelta | None = None,
        grace: float | timedelta = 5.0,
        retry: int | Retry = 1,
        idempotent: bool = False,
        retry_on_lost: bool = False,
        pool: str | None = None,
        priority: int = 0,
        concurrency: int | str | tuple[str, int] | None = None,
        mode: Mode = "job",
        requires_idempotency_key: bool = False,
        secrets: Iterable[str] = (),
    ) -> Callable[[Function], Function]: ...
    def tool(
        self,
        function: Function | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        pool: str | None = None,
        mode: Mode = "job",
        requires_idempotency_key: bool = False,
        secrets: Iterable[str] = (),
        **policy: Any,
    ) -> Function | Callable[[Function], Function]:
        """Offer a function as a tool.

        Args:
            name: the function's name unless given.
            description: the docstring unless given.
            timeout: seconds that one attempt may take; `idle_timeout` without output, progress or pages;
                `queue_timeout` until it starts; `total_timeout` over all attempts.
            grace: seconds between the request to stop and the end by force.
            retry: attempts in all, or a `Retry`.
            idempotent: an attempt may be repeated after a loss without harm.
            concurrency: at most so many runs of this tool at a time, or a key shared with other tools
                (limit 1), or a key and its limit.
            mode: `job` answers at once with a handle, `inline` waits for the result.

        Raises:
            SignatureError: the signature can't be offered.
            ValueError: the name is no tool name, is taken, or a policy makes no sense.
        """

        def register(offered: Function) -> Function:
            called = name or offered.__name__
            signature = read_signature(offered)
            definition = {
                "name": called,
                "description": described_by(offered) if description is None else description,
                "runtime": "function",
                "inputSchema": signature.input_schema,
                "profile": {"pool": pool or self._pool, "secrets": sorted({*self._secrets, *secrets})},
                "policy": _policy(called, **policy),
                "summary": "auto",
                "mode": mode,
                "requiresIdempotencyKey": requires_idempotency_key,
            }
            self._add(Tool(name=called, function=offered, signature=signature, definition=definition))
            return offered

        return register if function is None else register(function)

    def definitions(self, origin: str = "") -> list[dict[str, Any]]:
        """The tools as the server stores them, in the order of registration.

        Args:
            origin: where the application was loaded from, `module:app`.
        """
        return [
            {**tool.definition, "profile": {**tool.definition["profile"], "function": f"{origin}/{tool.name}"}}
            for tool in self.tools.values()
        ]

    def _add(self, tool: Tool) -> None:
        if not _NAME.fullmatch(tool.name):
            raise ValueError(
                f"{tool.name!r} is no tool name: letters, digits, '_', '.', '-', a letter first, 64 at most"
            )
        if tool.name in self.tools:
            raise ValueError(f"there is already a tool {tool.name!r}")
        self.tools[tool.name] = tool


def _policy(
    tool: str,
    *,
    timeout: float | timedelta | None = None,
    idle_timeout: float | timedelta | None = None,
    queue_timeout: float | timedelta | None = None,
    total_timeout: float | timedelta | None = None,
    grace: float | timedelta = 5.0,
    retry: int | Retry = 1,
    idempotent: bool = False,
    retry_on_lost: bool = False,
    priority: int = 0,
    concurrency: int | str | tuple[str, int] | None = None,
) -> dict[str, Any]:
    limits = {"attemptS": timeout, "idleS": idle_timeout, "queueS": queue_timeout, "totalS": total_timeout}
    return {
        "priority": priority,
        "retry": _retry(retry),
        "timeouts": {name: _positive(name, limit) for name, limit in limits.items() if limit is not None},
        "cancelGraceS": _seconds(grace),
        "retryOnLost": retry_on_lost,
        "idempotent": idempotent,
        **_concurrency(tool, concurrency),
    }


def _retry(retry: int | Retry) -> dict[str, Any]:
    asked = Retry(attempts=retry) if isinstance(retry, int) else retry
    if asked.attempts < 1:
        raise ValueError("retry counts attempts, so it is at least 1")
    return {
        "attemptsMax": asked.attempts,
        "delayS": asked.delay,
        "delayMaxS": asked.delay_max,
        "factor": asked.factor,
        "jitterS": asked.jitter,
    }


def _concurrency(tool: str, asked: int | str | tuple[str, int] | None) -> dict[str, Any]:
    match asked:
        case None:
            return {}
        case int():
            key, limit = tool, asked
        case str():
            key, limit = asked, 1
        case _:
            key, limit = asked
    if limit < 1:
        raise ValueError("concurrency is at least 1")
    return {"concurrencyKey": key, "concurrencyLimit": limit}


def _seconds(length: float | timedelta) -> float:
    return length.total_seconds() if isinstance(length, timedelta) else float(length)


def _positive(name: str, length: float | timedelta) -> float:
    seconds = _seconds(length)
    if not seconds > 0:
        raise ValueError(f"{name} must be more than nothing, not {seconds}")
    return seconds
