"""Whoever calls through MCP, as a client of the HTTP API: its token and project go with each request, and access is decided so.

Work never lives in a call: a caller that goes away leaves its runs alone.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from ringback.client import streams
from ringback.client.aio import AsyncDriver
from ringback.client.errors import UnreachableError
from ringback.client.exchange import IDEMPOTENCY_HEADER, Answer, Link, Request, exchange
from ringback.client.records import Event

T = TypeVar("T")
ANSWER_WITHIN_S = 20.0
REPEATS_WITHIN_S = 10.0  # beyond the time for one answer; starting a local server takes a few seconds
SOURCE = {"Ringback-Source": "mcp"}

Recover = Callable[[], Awaitable["Caller | None"]]


class Scope(Protocol):
    """What a door shows, where that is not everything."""

    def name_of(self, item: Mapping[str, Any]) -> str | None:
        """The name under which it shows a tool of the project; None: not at all."""
        ...

    def shows_own(self, name: str) -> bool:
        """Whether it shows this one of Ringback's own tools."""
        ...


@dataclass(slots=True)
class Caller:
    """One identity on one wire.

    Attributes:
        scope: what is shown; None is everything.
        recover: finds the server again when it does not answer, for example at another address after a restart.
        remembered: what was read lately, with the moment until which it may be believed.
    """

    driver: AsyncDriver
    link: Link
    recover: Recover | None = field(default=None, repr=False)
    scope: Scope | None = field(default=None, repr=False)
    remembered: dict[str, tuple[float, Any]] = field(default_factory=dict, repr=False)

    def of_project(self, slug: str | None) -> Caller:
        """The same caller, speaking of another project."""
        return self if slug is None else replace(self, link=replace(self.link, project=slug))

    def remember(self, name: str, value: T, *, for_s: float) -> T:
        """Keep what was read, for so many seconds."""
        self.remembered[name] = (time.monotonic() + for_s, value)
        return value

    def recall(self, name: str) -> Any:
        """What was kept, while it may be believed; else None."""
        until, value = self.remembered.get(name, (0.0, None))
        return value if time.monotonic() < until else None

    async def get(self, path: str, *, wait_s: int = 0, **query: str | int | None) -> Any:
        """The JSON of an answer; the server holds it back up to `wait_s` while a job is active."""
        headers = {"Prefer": f"wait={wait_s}"} if wait_s else {}
        given = {name: str(value) for name, value in query.items() if value is not None}
        return (await self.send("GET", path, query=given, headers=headers, within_s=ANSWER_WITHIN_S + wait_s)).json()

    async def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> Any:
        """The JSON of an answer. Sent with an idempotency key, a fresh one if need be, so that it may be repeated."""
        headers = {IDEMPOTENCY_HEADER: key or uuid.uuid4().hex, "Content-Type": "application/json", **SOURCE}
        return (await self.send("POST", path, headers=headers, body=json.dumps(body).encode())).json()

    async def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON of an answer."""
        headers = {"Content-Type": "application/json", **SOURCE}
        return (await self.send("PUT", path, headers=headers, body=json.dumps(body).encode())).json()

    async def delete(self, path: str, **query: str | None) -> Any:
        """The JSON of an answer."""
        given = {name: value for name, value in query.items() if value is not None}
        return (await self.send("DELETE", path, query=given)).json()

    async def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        within_s: float = ANSWER_WITHIN_S,
    ) -> Answer:
        """Send until there is an answer that counts, for a bounded time in all: hosts give up on a call after some 50 seconds.

        Raises:
            RefusedError, UnreachableError, ProtocolError: see `ringback.client.errors`.
        """
        try:
            async with asyncio.timeout(within_s + REPEATS_WITHIN_S):
                return await self._send(method, path, query=query, headers=headers, body=body, within_s=within_s)
        except TimeoutError as error:
            raise UnreachableError(self.link.url, "no answer in time") from error

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
        body: bytes | None,
        within_s: float,
    ) -> Answer:
        all_headers = {**self.link.headers(), **(headers or {})}
        request = Request(method, path, query=query or {}, headers=all_headers, body=body, within_s=within_s)
        try:
            return await self.driver.run(exchange(self.link, request))
        except UnreachableError:
            found = await self.recover() if self.recover is not None and request.is_repeatable else None
            if found is None:
                raise
            self.driver, self.link = found.driver, replace(found.link, project=self.link.project)
            again = replace(request, headers={**all_headers, **self.link.headers()})
            return await self.driver.run(exchange(self.link, again))

    def events(self, run_id: str, *, after: int) -> AsyncGenerator[Event, None]:
        """A run's events as they come, up to the terminal one."""
        return self.driver.iterate(streams.events(self.link, run_id, after=after))


def segment(name: str) -> str:
    """A name as one segment of a path."""
    return quote(name, safe="")
