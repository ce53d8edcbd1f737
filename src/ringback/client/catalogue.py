"""Resources, aliases, grants and families of runs, for both clients. Answers are the server's JSON objects as they came.

A resource is named by its kind (`tool`, `agent`, `mcp_server`) and its name.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from ringback.client import operations, requests
from ringback.client.exchange import Link, Steps, exchange
from ringback.client.records import Change

if TYPE_CHECKING:
    from ringback.client.asynchronous import AsyncRingback
    from ringback.client.blocking import Ringback

T = TypeVar("T")
Body = Mapping[str, Any]
STABLE = "stable"
TOOL = "tool"


def ask(link: Link, method: str, *below: str, body: Body | None = None) -> Steps[Body]:
    """One object of the catalogue."""
    return operations.ask(link, requests.of_catalogue(link, method, *below, body=body), operations.json_object)


def listed(link: Link, *below: str, query: Mapping[str, str | None] | None = None) -> Steps[tuple[Body, ...]]:
    """The items of one list of the catalogue."""
    request = requests.of_catalogue(link, "GET", *below, query=query)
    body = yield from operations.ask(link, request, operations.json_object)
    return tuple(body["items"])


def remove(link: Link, *below: str) -> Steps[None]:
    """Take something back that leaves nothing to be told."""
    yield from exchange(link, requests.of_catalogue(link, "DELETE", *below))


def switch(link: Link, kind: str, name: str, channel: str, revision: str | None, expected: str | None) -> Steps[Body]:
    """Point a channel elsewhere."""
    body = {"revisionId": revision} | ({} if expected is None else {"expectedRevisionId": expected})
    return ask(link, "PUT", "resources", kind, name, "channels", channel, body=body)


def rollback(link: Link, kind: str, name: str, channel: str) -> Steps[Body]:
    """Take back a channel's last switch. It is never sent twice, for that would undo it."""
    return ask(link, "POST", "resources", kind, name, "channels", channel, "rollback", body={})


def put_alias(
    link: Link, alias: str, name: str | None, kind: str, channel: str | None, grant: str | None
) -> Steps[Body]:
    """Make a name stand for something."""
    given = {"name": name, "resourceType": kind, "releaseChannel": channel, "grantId": grant}
    body = {member: value for member, value in given.items() if value is not None}
    return ask(link, "PUT", "aliases", alias, body=body)


def grant_body(
    name: str, project: str, kind: str, channel: str, scopes: Sequence[str], expires_at: datetime | None
) -> dict[str, Any]:
    """The members of the request for a grant.

    Raises:
        ValueError: the expiry has no offset.
    """
    if expires_at is not None and expires_at.tzinfo is None:
        raise ValueError("expires_at needs an offset: use datetime.now(UTC) or give a tzinfo")
    body: dict[str, Any] = {
        "name": name,
        "granteeProjectId": project,
        "resourceType": kind,
        "releaseChannel": channel,
        "visibilityScopes": list(scopes),
    }
    return body if expires_at is None else {**body, "expiresAt": expires_at.astimezone(UTC).isoformat()}


class Resources:
    """What `Ringback.resources` offers."""

    def __init__(self, client: "Ringback") -> None:
        """Made by `Ringback.resources`."""
        self._client = client

    def list(self, kind: str | None = None) -> tuple[Body, ...]:
        """Every resource, or those of one kind, with the revisions that are released, by channel."""
        return self._run(listed(self._client.link, "resources", query={"type": kind}))

    def get(self, name: str, *, kind: str = TOOL) -> Body:
        """One resource with its channels and the definition that `stable` points to."""
        return self._run(ask(self._client.link, "GET", "resources", kind, name))

    def apply(
        self, definitions: Iterable[Mapping[str, Any]], *, channel: str = STABLE, dry_run: bool = False
    ) -> tuple[Change, ...]:
        """Release each definition on a channel, or none if one is wrong; what is not named stays as it is."""
        return self._run(operations.apply(self._client.link, definitions, channel=channel, dry_run=dry_run))

    def revisions(self, name: str, *, kind: str = TOOL) -> tuple[Body, ...]:
        """Newest first, each with the channels that point to it."""
        return self._run(listed(self._client.link, "resources", kind, name, "revisions"))

    def revision(self, name: str, revision: str, *, kind: str = TOOL) -> Body:
        """One revision with its definition; `revision` is its id or what stands behind the `@` there."""
        return self._run(ask(self._client.link, "GET", "resources", kind, name, "revisions", revision))

    def channels(self, name: str, *, kind: str = TOOL) -> tuple[Body, ...]:
        """Where each channel points; without `revisionId` nowhere."""
        return self._run(listed(self._client.link, "resources", kind, name, "channels"))

    def switch(
        self, name: str, revision: str | None, *, channel: str = STABLE, kind: str = TOOL, expected: str | None = None
    ) -> Body:
        """Point a channel at a revision, or nowhere (None). Runs that exist keep theirs.

        Args:
            name: the resource's.
            revision: its id, or what stands behind the `@` there.
            channel: made if there is none of this name.
            kind: tool, agent or mcp_server.
            expected: where the channel must point before.

        Raises:
            ConflictError: it points elsewhere than expected (`channel_moved`).
        """
        return self._run(switch(self._client.link, kind, name, channel, revision, expected))

    def rollback(self, name: str, *, channel: str = STABLE, kind: str = TOOL) -> Body:
        """Take back a channel's last switch; doing that twice undoes it."""
        return self._run(rollback(self._client.link, kind, name, channel))

    def switches(self, name: str, *, channel: str = STABLE, kind: str = TOOL) -> tuple[Body, ...]:
        """How a channel came to point where it points, newest first."""
        return self._run(listed(self._client.link, "resources", kind, name, "channels", channel, "switches"))

    def withdraw(self, name: str, *, kind: str = TOOL) -> Body:
        """Release nothing of it on `stable` any more. Its revisions stay, and its runs go on."""
        return self._run(ask(self._client.link, "DELETE", "resources", kind, name))

    def _run(self, steps: Steps[T]) -> T:
        return self._client.driver.run(steps)


class Aliases:
    """What `Ringback.aliases` offers."""

    def __init__(self, client: "Ringback") -> None:
        """Made by `Ringback.aliases`."""
        self._client = client

    def list(self) -> tuple[Body, ...]:
        """The project's aliases by name."""
        return self._run(listed(self._client.link, "aliases"))

    def put(
        self,
        alias: str,
        name: str | None = None,
        *,
        kind: str = TOOL,
        channel: str | None = None,
        grant: str | None = None,
    ) -> Body:
        """Make a name stand for a resource of the project, or for a grant; it may have stood for something else."""
        return self._run(put_alias(self._client.link, alias, name, kind, channel, grant))

    def remove(self, alias: str) -> None:
        """Take a name back."""
        self._run(remove(self._client.link, "aliases", alias))

    def _run(self, steps: Steps[T]) -> T:
        return self._client.driver.run(steps)


class Grants:
    """What `Ringback.grants` offers."""

    def __init__(self, client: "Ringback") -> None:
        """Made by `Ringback.grants`."""
        self._client = client

    def list(self) -> Body:
        """`{"given": […], "received": […]}`, both oldest first; of the received only those that are good."""
        return self._run(ask(self._client.link, "GET", "grants"))

    def give(
        self,
        name: str,
        project: str,
        *,
        scopes: Sequence[str] = (),
        kind: str = TOOL,
        channel: str = STABLE,
        expires_at: datetime | None = None,
    ) -> Body:
        """Let another project call a resource of this one. The runs will be this project's.

        Args:
            name: the resource's.
            project: the id of the project that may call it.
            scopes: what it may see of the runs beside their status: events, output, input, attempts, links, interactions.
            kind: tool, agent or mcp_server.
            channel: the only one it may call.
            expires_at: with an offset.
        """
        body = grant_body(name, project, kind, channel, scopes, expires_at)
        return self._run(ask(self._client.link, "POST", "grants", body=body))

    def revoke(self, grant_id: str) -> Body:
        """End a grant at once; the runs that it started go on, unknown to the other side."""
        return self._run(ask(self._client.link, "DELETE", "grants", grant_id))

    def _run(self, steps: Steps[T]) -> T:
        return self._client.driver.run(steps)


class AsyncResources:
    """The same as `Resources`, awaited."""

    def __init__(self, client: "AsyncRingback") -> None:
        """Made by `AsyncRingback.resources`."""
        self._client = client

    async def list(self, kind: str | None = None) -> tuple[Body, ...]:
        """Every resource, or those of one kind, with the revisions that are released, by channel."""
        return await self._run(listed(self._client.link, "resources", query={"type": kind}))

    async def get(self, name: str, *, kind: str = TOOL) -> Body:
        """One resource with its channels and the definition that `stable` points to."""
        return await self._run(ask(self._client.link, "GET", "resources", kind, name))

    async def apply(
        self, definitions: Iterable[Mapping[str, Any]], *, channel: str = STABLE, dry_run: bool = False
    ) -> tuple[Change, ...]:
        """Release each definition on a channel, or none if one is wrong; what is not named stays as it is."""
        return await self._run(operations.apply(self._client.link, definitions, channel=channel, dry_run=dry_run))

    async def revisions(self, name: str, *, kind: str = TOOL) -> tuple[Body, ...]:
        """Newest first, each with the channels that point to it."""
        return await self._run(listed(self._client.link, "resources", kind, name, "revisions"))

    async def revision(self, name: str, revision: str, *, kind: str = TOOL) -> Body:
        """One revision with its definition; `revision` is its id or what stands behind the `@` there."""
        return await self._run(ask(self._client.link, "GET", "resources", kind, name, "revisions", revision))

    async def channels(self, name: str, *, kind: str = TOOL) -> tuple[Body, ...]:
        """Where each channel points; without `revisionId` nowhere."""
        return await self._run(listed(self._client.link, "resources", kind, name, "channels"))

    async def switch(
        self, name: str, revision: str | None, *, channel: str = STABLE, kind: str = TOOL, expected: str | None = None
    ) -> Body:
        """Point a channel at a revision, or nowhere (None). Runs that exist keep theirs. See `Resources.switch`."""
        return await self._run(switch(self._client.link, kind, name, channel, revision, expected))

    async def rollback(self, name: str, *, channel: str = STABLE, kind: str = TOOL) -> Body:
        """Take back a channel's last switch; doing that twice undoes it."""
        return await self._run(rollback(self._client.link, kind, name, channel))

    async def switches(self, name: str, *, channel: str = STABLE, kind: str = TOOL) -> tuple[Body, ...]:
        """How a channel came to point where it points, newest first."""
        return await self._run(listed(self._client.link, "resources", kind, name, "channels", channel, "switches"))

    async def withdraw(self, name: str, *, kind: str = TOOL) -> Body:
        """Release nothing of it on `stable` any more. Its revisions stay, and its runs go on."""
        return await self._run(ask(self._client.link, "DELETE", "resources", kind, name))

    async def _run(self, steps: Steps[T]) -> T:
        return await self._client.driver.run(steps)


class AsyncAliases:
    """The same as `Aliases`, awaited."""

    def __init__(self, client: "AsyncRingback") -> None:
        """Made by `AsyncRingback.aliases`."""
        self._client = client

    async def list(self) -> tuple[Body, ...]:
        """The project's aliases by name."""
        return await self._run(listed(self._client.link, "aliases"))

    async def put(
        self,
        alias: str,
        name: str | None = None,
        *,
        kind: str = TOOL,
        channel: str | None = None,
        grant: str | None = None,
    ) -> Body:
        """Make a name stand for a resource of the project, or for a grant; it may have stood for something else."""
        return await self._run(put_alias(self._client.link, alias, name, kind, channel, grant))

    async def remove(self, alias: str) -> None:
        """Take a name back."""
        await self._run(remove(self._client.link, "aliases", alias))

    async def _run(self, steps: Steps[T]) -> T:
        return await self._client.driver.run(steps)


class AsyncGrants:
    """The same as `Grants`, awaited."""

    def __init__(self, client: "AsyncRingback") -> None:
        """Made by `AsyncRingback.grants`."""
        self._client = client

    async def list(self) -> Body:
        """`{"given": […], "received": […]}`, both oldest first; of the received only those that are good."""
        return await self._run(ask(self._client.link, "GET", "grants"))

    async def give(
        self,
        name: str,
        project: str,
        *,
        scopes: Sequence[str] = (),
        kind: str = TOOL,
        channel: str = STABLE,
        expires_at: datetime | None = None,
    ) -> Body:
        """Let another project call a resource of this one. The runs will be this project's. See `Grants.give`."""
        body = grant_body(name, project, kind, channel, scopes, expires_at)
        return await self._run(ask(self._client.link, "POST", "grants", body=body))

    async def revoke(self, grant_id: str) -> Body:
        """End a grant at once; the runs that it started go on, unknown to the other side."""
        return await self._run(ask(self._client.link, "DELETE", "grants", grant_id))

    async def _run(self, steps: Steps[T]) -> T:
        return await self._client.driver.run(steps)
