"""Stored scripts and their tests, for both clients. Answers are the server's JSON objects as they came.

The path names the project here, so it must be known before anything is asked: it is the client's, else the only one there is.
"""

import uuid
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ringback.client import operations, requests
from ringback.client.errors import refusal
from ringback.client.exchange import IDEMPOTENCY_HEADER, Link, Step, Steps, exchange

if TYPE_CHECKING:
    from ringback.client.asynchronous import AsyncRingback
    from ringback.client.blocking import Ringback

T = TypeVar("T")
Body = Mapping[str, Any]
SCRIPTS = "scripts"
ENDPOINTS = "endpoints"


def listed(link: Link, *below: str) -> Steps[tuple[Body, ...]]:
    """What a list below `/api/projects/{slug}` holds."""
    _, slug = yield from _located(link)
    body = yield from operations.ask(link, requests.of_project(link, "GET", slug, *below), operations.json_object)
    return tuple(body["items"])


def get(link: Link, *below: str) -> Steps[Body]:
    """One object below `/api/projects/{slug}`."""
    _, slug = yield from _located(link)
    return (yield from operations.ask(link, requests.of_project(link, "GET", slug, *below), operations.json_object))


def put(link: Link, name: str, body: Body) -> Steps[Body]:
    """Keep a script."""
    _, slug = yield from _located(link)
    given = {key: value for key, value in body.items() if value is not None}
    request = requests.of_project(link, "PUT", slug, SCRIPTS, name, body=given)
    return (yield from operations.ask(link, request, operations.json_object))


def delete(link: Link, name: str) -> Steps[None]:
    """Take a script back."""
    _, slug = yield from _located(link)
    yield from exchange(link, requests.of_project(link, "DELETE", slug, SCRIPTS, name))


def publish(link: Link, path: str, target: str) -> Steps[Body]:
    """Publish a script or a tool."""
    _, slug = yield from _located(link)
    request = requests.of_project(link, "PUT", slug, ENDPOINTS, *path.strip("/").split("/"), body={"target": target})
    return (yield from operations.ask(link, request, operations.json_object))


def unpublish(link: Link, path: str) -> Steps[None]:
    """Take an endpoint back."""
    _, slug = yield from _located(link)
    yield from exchange(link, requests.of_project(link, "DELETE", slug, ENDPOINTS, *path.strip("/").split("/")))


def test(link: Link, name: str, args: Body | None, *, detached: bool, key: str | None) -> Steps[Body]:
    """Run a script; unless `detached`, to its end, however often the server has to be asked."""
    there, slug = yield from _located(link)
    headers = {IDEMPOTENCY_HEADER: requests.header_value(uuid.uuid4().hex if key is None else key)}
    body = {"args": None if args is None else dict(args), "detached": detached}
    request = requests.of_project(there, "POST", slug, SCRIPTS, name, "test-run", body=body, headers=headers)
    found = yield from operations.ask(there, request, operations.json_object)
    if detached or "id" in found:
        return found
    yield from operations.wait(there, str(found["run_id"]), None)
    return (yield from get(there, "async-runs", str(found["run_id"])))


def script_body(
    source: str,
    description: str,
    input_schema: Body | None,
    timeout_seconds: float | None,
    memory_bytes: int | None,
    cpu_seconds: int | None,
    pool: str | None,
) -> dict[str, Any]:
    """The members of the request to keep a script; None is what was not given."""
    limits = {"timeout_seconds": timeout_seconds, "memory_bytes": memory_bytes, "cpu_seconds": cpu_seconds}
    return {"source": source, "description": description, "input_schema": input_schema, "pool": pool, **limits}


def _located(link: Link) -> Generator[Step, Any, tuple[Link, str]]:
    """The link with its project, and the project's slug.

    Raises:
        ProjectRequiredError: more than one is possible.
    """
    slug = link.project
    if slug is None:
        found = yield from operations.listed(link, "/v1/projects", operations.json_object, {})
        if len(found) != 1:
            detail = "name the project: `project=`, `--project` or RINGBACK_PROJECT"
            raise refusal(400, {"code": "project_required", "detail": detail, "retryable": False})
        slug = str(found[0]["slug"])
    return replace(link, project=slug), slug


class Scripts:
    """What `Ringback.scripts` offers."""

    def __init__(self, client: "Ringback") -> None:
        """Made by `Ringback.scripts`."""
        self._client = client

    def list(self) -> tuple[Body, ...]:
        """The project's scripts by name, without their source."""
        return self._run(listed(self._client.link, SCRIPTS))

    def get(self, name: str) -> Body:
        """One script with its source."""
        return self._run(get(self._client.link, SCRIPTS, name))

    def revisions(self, name: str) -> tuple[Body, ...]:
        """A script's revisions, newest first."""
        return self._run(listed(self._client.link, SCRIPTS, name, "revisions"))

    def put(
        self,
        name: str,
        source: str,
        *,
        description: str = "",
        input_schema: Body | None = None,
        timeout_seconds: float | None = None,
        memory_bytes: int | None = None,
        cpu_seconds: int | None = None,
        pool: str | None = None,
    ) -> Body:
        """Make this the current revision under `name`. Limits that are not given are the server's, not the earlier ones."""
        body = script_body(source, description, input_schema, timeout_seconds, memory_bytes, cpu_seconds, pool)
        return self._run(put(self._client.link, name, body))

    def delete(self, name: str) -> None:
        """Take a script back. Its runs stay and go on."""
        self._run(delete(self._client.link, name))

    def test(
        self, name: str, args: Body | None = None, *, detached: bool = False, idempotency_key: str | None = None
    ) -> Body:
        """Run a script and return its async run at the end; `detached`: at once `{run_id, request_id, status}`."""
        return self._run(test(self._client.link, name, args, detached=detached, key=idempotency_key))

    def run(self, run_id: str) -> Body:
        """One look at an async run."""
        return self._run(get(self._client.link, "async-runs", run_id))

    def endpoints(self) -> tuple[Body, ...]:
        """What the project has published."""
        return self._run(listed(self._client.link, ENDPOINTS))

    def publish(self, path: str, target: str) -> Body:
        """Publish a script or a tool at `/x/PROJECT/{path}`."""
        return self._run(publish(self._client.link, path, target))

    def unpublish(self, path: str) -> None:
        """Take an endpoint back."""
        self._run(unpublish(self._client.link, path))

    def _run(self, steps: Steps[T]) -> T:
        return self._client.driver.run(steps)


class AsyncScripts:
    """The same as `Scripts`, awaited."""

    def __init__(self, client: "AsyncRingback") -> None:
        """Made by `AsyncRingback.scripts`."""
        self._client = client

    async def list(self) -> tuple[Body, ...]:
        """The project's scripts by name, without their source."""
        return await self._run(listed(self._client.link, SCRIPTS))

    async def get(self, name: str) -> Body:
        """One script with its source."""
        return await self._run(get(self._client.link, SCRIPTS, name))

    async def revisions(self, name: str) -> tuple[Body, ...]:
        """A script's revisions, newest first."""
        return await self._run(listed(self._client.link, SCRIPTS, name, "revisions"))

    async def put(
        self,
        name: str,
        source: str,
        *,
        description: str = "",
        input_schema: Body | None = None,
        timeout_seconds: float | None = None,
        memory_bytes: int | None = None,
        cpu_seconds: int | None = None,
        pool: str | None = None,
    ) -> Body:
        """Make this the current revision under `name`. Limits that are not given are the server's, not the earlier ones."""
        body = script_body(source, description, input_schema, timeout_seconds, memory_bytes, cpu_seconds, pool)
        return await self._run(put(self._client.link, name, body))

    async def delete(self, name: str) -> None:
        """Take a script back. Its runs stay and go on."""
        await self._run(delete(self._client.link, name))

    async def test(
        self, name: str, args: Body | None = None, *, detached: bool = False, idempotency_key: str | None = None
    ) -> Body:
        """Run a script and return its async run at the end; `detached`: at once `{run_id, request_id, status}`."""
        return await self._run(test(self._client.link, name, args, detached=detached, key=idempotency_key))

    async def run(self, run_id: str) -> Body:
        """One look at an async run."""
        return await self._run(get(self._client.link, "async-runs", run_id))

    async def endpoints(self) -> tuple[Body, ...]:
        """What the project has published."""
        return await self._run(listed(self._client.link, ENDPOINTS))

    async def publish(self, path: str, target: str) -> Body:
        """Publish a script or a tool at `/x/PROJECT/{path}`."""
        return await self._run(publish(self._client.link, path, target))

    async def unpublish(self, path: str) -> None:
        """Take an endpoint back."""
        await self._run(unpublish(self._client.link, path))

    async def _run(self, steps: Steps[T]) -> T:
        return await self._client.driver.run(steps)
