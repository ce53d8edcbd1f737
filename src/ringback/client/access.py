"""Projects, members, tokens and the audit log, for both clients. Answers are the server's JSON objects as they came."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from ringback.client import operations, requests
from ringback.client.exchange import Link, Steps, exchange

if TYPE_CHECKING:
    from ringback.client.asynchronous import AsyncRingback
    from ringback.client.blocking import Ringback

T = TypeVar("T")
Body = Mapping[str, Any]
PAGE_SIZE = 100


def listed(link: Link, what: str) -> Steps[tuple[Body, ...]]:
    """All of `orgs`, `projects`, `members`, `users` or `tokens`."""
    return operations.listed(link, f"/v1/{what}", operations.json_object, {})


def make(link: Link, what: str, body: Mapping[str, Any]) -> Steps[Body]:
    """A new org, project or token. It is never sent twice: a lost answer may leave one behind."""
    return operations.ask(link, requests.make(link, f"/v1/{what}", _given(body)), operations.json_object)


def put(link: Link, what: str, name: str, body: Mapping[str, Any]) -> Steps[Body]:
    """Set a member's or a user's role."""
    return operations.ask(link, requests.put(link, what, name, body), operations.json_object)


def remove_member(link: Link, user: str) -> Steps[None]:
    """End a membership."""
    yield from exchange(link, requests.delete(link, "members", user))


def revoke(link: Link, token_id: str) -> Steps[Body]:
    """End a token."""
    return operations.ask(link, requests.delete(link, "tokens", token_id), operations.json_object)


def _tokens_of(run: str) -> str:
    return f"runs/{quote(run, safe='')}/capability-tokens"


def unshare(link: Link, run: str, token_id: str) -> Steps[None]:
    """End a capability token."""
    yield from exchange(link, requests.delete(link, _tokens_of(run), token_id))


def audit(link: Link, *, installation: bool, limit: int) -> Steps[tuple[Body, ...]]:
    """The newest entries, newest first."""
    path = "/v1/installation/audit" if installation else "/v1/audit"
    found: list[Body] = []
    cursor: str | None = None
    while len(found) < limit:
        query = {"cursor": cursor, "limit": str(min(PAGE_SIZE, limit - len(found)))}
        body = yield from operations.ask(link, requests.collection(link, path, query), operations.json_object)
        found += body["items"]
        cursor = body.get("nextCursor")
        if cursor is None:
            break
    return tuple(found)


def token_body(
    name: str, scopes: Sequence[str], project: str | None, user: str | None, expires_at: datetime | None, worker: bool
) -> dict[str, Any]:
    """The members of the request for a token.

    Raises:
        ValueError: the expiry has no offset.
    """
    if expires_at is not None and expires_at.tzinfo is None:
        raise ValueError("expires_at needs an offset: use datetime.now(UTC) or give a tzinfo")
    moment = None if expires_at is None else expires_at.astimezone(UTC).isoformat()
    body = {"name": name, "scopes": list(scopes), "project": project, "user": user, "expiresAt": moment}
    return {**body, "worker": worker}


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


class Access:
    """What `Ringback.access` offers. Roles: viewer, runner, editor, admin, owner."""

    def __init__(self, client: "Ringback") -> None:
        """Made by `Ringback.access`."""
        self._client = client

    def projects(self) -> tuple[Body, ...]:
        """The projects that the caller may name."""
        return self._run(listed(self._client.link, "projects"))

    def create_project(self, slug: str, *, name: str | None = None, org: str | None = None) -> Body:
        """A new project, owned by the caller. Takes a platform role."""
        return self._run(make(self._client.link, "projects", {"slug": slug, "name": name, "orgId": org}))

    def orgs(self) -> tuple[Body, ...]:
        """The orgs of the caller's projects."""
        return self._run(listed(self._client.link, "orgs"))

    def create_org(self, org: str, *, name: str | None = None) -> Body:
        """A new org. Takes a platform role."""
        return self._run(make(self._client.link, "orgs", {"orgId": org, "name": name}))

    def members(self) -> tuple[Body, ...]:
        """The project's members `{user, role}`."""
        return self._run(listed(self._client.link, "members"))

    def set_member(self, user: str, role: str) -> Body:
        """Make a user a member of the project, or change the role."""
        return self._run(put(self._client.link, "members", user, {"role": role}))

    def remove_member(self, user: str) -> None:
        """End a membership."""
        self._run(remove_member(self._client.link, user))

    def users(self) -> tuple[Body, ...]:
        """All users. Takes a platform role."""
        return self._run(listed(self._client.link, "users"))

    def set_platform_role(self, user: str, role: str | None) -> Body:
        """Let a user administer the installation (`admin`), or no longer (None)."""
        return self._run(put(self._client.link, "users", user, {"platformRole": role}))

    def tokens(self) -> tuple[Body, ...]:
        """The caller's tokens, and those of projects that the caller administers."""
        return self._run(listed(self._client.link, "tokens"))

    def create_token(
        self,
        name: str,
        scopes: Sequence[str] = (),
        *,
        project: str | None = None,
        user: str | None = None,
        expires_at: datetime | None = None,
        worker: bool = False,
    ) -> Body:
        """A new token; `["token"]` is shown this once."""
        body = token_body(name, scopes, project, user, expires_at, worker)
        return self._run(make(self._client.link, "tokens", body))

    def revoke_token(self, token_id: str) -> Body:
        """End a token at once."""
        return self._run(revoke(self._client.link, token_id))

    def share(self, run: str, *, expires_in_s: int | None = None) -> Body:
        """A capability token: it opens the status of one run, and is shown once."""
        return self._run(make(self._client.link, _tokens_of(run), {"expiresInS": expires_in_s}))

    def shared(self, run: str) -> tuple[Body, ...]:
        """The capability tokens of a run, without what opens it."""
        return self._run(listed(self._client.link, _tokens_of(run)))

    def unshare(self, run: str, token_id: str) -> None:
        """End a capability token at once."""
        self._run(unshare(self._client.link, run, token_id))

    def audit(self, *, installation: bool = False, limit: int = PAGE_SIZE) -> tuple[Body, ...]:
        """The newest changes in the project, or about the installation, newest first."""
        return self._run(audit(self._client.link, installation=installation, limit=limit))

    def _run(self, steps: Steps[T]) -> T:
        return self._client.driver.run(steps)


class AsyncAccess:
    """The same as `Access`, awaited."""

    def __init__(self, client: "AsyncRingback") -> None:
        """Made by `AsyncRingback.access`."""
        self._client = client

    async def projects(self) -> tuple[Body, ...]:
        """The projects that the caller may name."""
        return await self._run(listed(self._client.link, "projects"))

    async def create_project(self, slug: str, *, name: str | None = None, org: str | None = None) -> Body:
        """A new project, owned by the caller. Takes a platform role."""
        return await self._run(make(self._client.link, "projects", {"slug": slug, "name": name, "orgId": org}))

    async def orgs(self) -> tuple[Body, ...]:
        """The orgs of the caller's projects."""
        return await self._run(listed(self._client.link, "orgs"))

    async def create_org(self, org: str, *, name: str | None = None) -> Body:
        """A new org. Takes a platform role."""
        return await self._run(make(self._client.link, "orgs", {"orgId": org, "name": name}))

    async def members(self) -> tuple[Body, ...]:
        """The project's members `{user, role}`."""
        return await self._run(listed(self._client.link, "members"))

    async def set_member(self, user: str, role: str) -> Body:
        """Make a user a member of the project, or change the role."""
        return await self._run(put(self._client.link, "members", user, {"role": role}))

    async def remove_member(self, user: str) -> None:
        """End a membership."""
        await self._run(remove_member(self._client.link, user))

    async def users(self) -> tuple[Body, ...]:
        """All users. Takes a platform role."""
        return await self._run(listed(self._client.link, "users"))

    async def set_platform_role(self, user: str, role: str | None) -> Body:
        """Let a user administer the installation (`admin`), or no longer (None)."""
        return await self._run(put(self._client.link, "users", user, {"platformRole": role}))

    async def tokens(self) -> tuple[Body, ...]:
        """The caller's tokens, and those of projects that the caller administers."""
        return await self._run(listed(self._client.link, "tokens"))

    async def create_token(
        self,
        name: str,
        scopes: Sequence[str] = (),
        *,
        project: str | None = None,
        user: str | None = None,
        expires_at: datetime | None = None,
        worker: bool = False,
    ) -> Body:
        """A new token; `["token"]` is shown this once."""
        body = token_body(name, scopes, project, user, expires_at, worker)
        return await self._run(make(self._client.link, "tokens", body))

    async def revoke_token(self, token_id: str) -> Body:
        """End a token at once."""
        return await self._run(revoke(self._client.link, token_id))

    async def share(self, run: str, *, expires_in_s: int | None = None) -> Body:
        """A capability token: it opens the status of one run, and is shown once."""
        return await self._run(make(self._client.link, _tokens_of(run), {"expiresInS": expires_in_s}))

    async def shared(self, run: str) -> tuple[Body, ...]:
        """The capability tokens of a run, without what opens it."""
        return await self._run(listed(self._client.link, _tokens_of(run)))

    async def unshare(self, run: str, token_id: str) -> None:
        """End a capability token at once."""
        await self._run(unshare(self._client.link, run, token_id))

    async def audit(self, *, installation: bool = False, limit: int = PAGE_SIZE) -> tuple[Body, ...]:
        """The newest changes in the project, or about the installation, newest first."""
        return await self._run(audit(self._client.link, installation=installation, limit=limit))

    async def _run(self, steps: Steps[T]) -> T:
        return await self._client.driver.run(steps)
