"""Projects, members, tokens and the audit log from the command line and from both clients, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from ringback.client import AsyncRingback, ForbiddenError, NotFoundError, Ringback, UnauthorizedError
from tests.cli.living import Living, living

LATER = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def rb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    with living(tmp_path_factory.mktemp("access"), "--no-worker") as running:
        yield running


def test_a_team_from_the_command_line(rb: Living) -> None:
    """The local owner makes a project, a member and a member's token; the token opens just what the role gives."""
    assert rb("project", "create", "web", "--name", "Web").out == "made web\n"
    assert "web" in rb("project", "list").out
    there = ("--project", "web")
    assert rb("member", "set", "vera", "viewer", *there).out == "vera is viewer\n"
    assert [each["user"] for each in rb("member", "list", *there, "--json").json["members"]] == ["local-owner", "vera"]
    made = rb("token", "create", "hers", "--scope", "runs:read", "--user", "vera", "--bind", "web")
    token = made.out.strip()
    assert token.startswith("rbp_"), made.err

    hers = {"RINGBACK_TOKEN": token, "RINGBACK_URL": rb.url}
    with Ringback(url=rb.url, token=token) as client:
        assert [each["slug"] for each in client.access.projects()] == ["web"]
        assert list(client.jobs()) == []
    assert rb("member", "set", "eve", "owner", "--url", rb.url, **hers).code == 6

    (token_id,) = [each["tokenId"] for each in rb("token", "list", "--json").json["tokens"] if each["name"] == "hers"]
    assert "hers" in rb("token", "list").out
    assert rb("token", "revoke", token_id).code == 0
    with Ringback(url=rb.url, token=token) as client, pytest.raises(UnauthorizedError):
        client.access.projects()
    assert rb("member", "remove", "vera", *there).code == 0
    log = rb("audit", *there, "--json").json["entries"]
    assert [each["action"] for each in log] == [
        "member.removed",
        "token.revoked",
        "token.created",
        "member.added",
        "project.created",
    ]
    assert token not in rb("audit", *there).out + rb("audit", "--installation").out
    assert rb("token", "create", "x", "--scope", "runs:read", "--expires", "tomorrow").code == 2
    assert rb("token", "create", "x", "--scope", "runs:read", "--expires", "2999-01-01T00:00:00").code == 2


def test_the_blocking_client(rb: Living) -> None:
    with Ringback(data=rb.data, project="default") as client:
        access = client.access
        assert access.create_org("acme")["orgId"] == "acme"
        assert access.create_project("blocking", org="acme")["orgId"] == "acme"
        assert {each["orgId"] for each in access.orgs()} == {"local", "acme"}
        assert access.set_member("bob", "runner") == {"user": "bob", "role": "runner"}
        assert access.set_platform_role("bob", "admin")["platformRole"] == "admin"
        assert "platformRole" not in access.set_platform_role("bob", None)
        assert {each["user"] for each in access.users()} >= {"bob", "local-owner"}
        made = access.create_token("w", worker=True, expires_at=LATER)
        assert made["scopes"] == ["worker:attach"]
        with Ringback(url=rb.url, token=made["token"]) as worker, pytest.raises(ForbiddenError):
            worker.tools()
        assert "revokedAt" in access.revoke_token(made["tokenId"])
        access.remove_member("bob")
        with pytest.raises(NotFoundError):
            access.remove_member("bob")
        assert [each["action"] for each in access.audit(limit=2)] == ["member.removed", "member.added"]
        assert access.audit(installation=True, limit=1)[0]["action"] == "token.revoked"
        with pytest.raises(ValueError, match="offset"):
            access.create_token("x", ["runs:read"], expires_at=LATER.replace(tzinfo=None))


async def test_the_asyncio_client(rb: Living) -> None:
    async with AsyncRingback(data=rb.data, project="default") as client:
        access = client.access
        await access.create_org("async-org")
        await access.create_project("asyncio", org="async-org")
        assert "asyncio" in [each["slug"] for each in await access.projects()]
        assert "async-org" in [each["orgId"] for each in await access.orgs()]
        await access.set_member("ann", "viewer")
        assert {"user": "ann", "role": "viewer"} in await access.members()
        assert (await access.set_platform_role("ann", "admin"))["platformRole"] == "admin"
        await access.set_platform_role("ann", None)
        assert "ann" in [each["user"] for each in await access.users()]
        made = await access.create_token("ann's", ["runs:read"], user="ann", project="default")
        assert made["user"] == "ann"
        assert made["tokenId"] in [each["tokenId"] for each in await access.tokens()]
        await access.revoke_token(made["tokenId"])
        await access.remove_member("ann")
        assert (await access.audit(limit=1))[0]["action"] == "member.removed"
