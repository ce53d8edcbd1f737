"""Orgs, projects, members, tokens and the audit log over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2

from tests.api.callers import user
from tests.api.door import OTHER_TOKEN, Door

ALL = ["runs:read", "runs:write", "access:admin"]


async def post(door: Door, path: str, headers: dict[str, str], **body: Any) -> httpx2.Response:
    return await door.client.post(path, json=body, headers=headers)


async def make_token(door: Door, headers: dict[str, str], **body: Any) -> tuple[dict[str, str], dict[str, Any]]:
    answer = await post(door, "/v1/tokens", headers, **{"name": "t", "scopes": ALL, **body})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return {"authorization": f"Bearer {made['token']}"}, made


async def audit(door: Door, path: str = "/v1/audit", **headers: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await door.get(path, **headers))["items"]
    return items


async def test_an_operator_makes_a_project_and_owns_it(door: Door) -> None:
    operator = await user(door, "op", is_operator=True)
    made = await post(door, "/v1/orgs", operator, orgId="acme", name="Acme")
    assert made.status_code == 201, made.text
    made = await post(door, "/v1/projects", operator, slug="web", orgId="acme")
    assert (made.status_code, made.headers["location"]) == (201, "/v1/projects/web")

    assert [each["slug"] for each in (await door.get("/v1/projects", **operator))["items"]] == ["web"]
    assert (await door.get("/v1/projects/web", **operator))["orgId"] == "acme"
    del door.client.headers["ringback-project"]
    assert (await door.get("/v1/members", **operator))["items"] == [{"user": "op", "role": "owner"}]
    assert {each["orgId"] for each in (await door.get("/v1/orgs", **operator))["items"]} == {"acme", "local"}
    web = {"ringback-project": "web", **operator}
    assert [each["action"] for each in await audit(door, **web)] == ["project.created"]
    actions = [each["action"] for each in await audit(door, "/v1/installation/audit", **operator)]
    assert actions == ["project.created", "org.created", "user.changed"]


async def test_names_are_checked_and_taken_once(door: Door) -> None:
    operator = await user(door, "op", is_operator=True)
    for path, name in (("/v1/projects", "slug"), ("/v1/orgs", "orgId")):
        for wrong in ("", "-a", "A", "a/b", "../x", "a" * 64, "a\n", "ü"):
            answer = await post(door, path, operator, **{name: wrong})
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/{name}"), wrong
        answers = await asyncio.gather(*(post(door, path, operator, **{name: "twice"}) for _ in range(5)))
        assert sorted(each.status_code for each in answers) == [201, 409, 409, 409, 409]
        assert {each.json().get("code") for each in answers} == {None, "already_exists"}
    for body, pointer in (({"orgId": "nix"}, "/orgId"), ({"name": "x" * 201}, "/name"), ({"name": "\0"}, "/name")):
        answer = await post(door, "/v1/projects", operator, slug="new", **body)
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


async def put_member(door: Door, headers: dict[str, str], name: str, role: str) -> int:
    return (await door.client.put(f"/v1/members/{name}", json={"role": role}, headers=headers)).status_code


async def test_roles_are_given_changed_and_taken_and_count_at_once(door: Door) -> None:
    owner = await user(door, "olga", {"default": "owner"})
    bob = await user(door, "bob")
    assert (await door.client.get("/jobs", headers=bob)).status_code == 404
    for role, status in (("viewer", 403), ("runner", 202)):
        assert await put_member(door, owner, "bob", role) == 200
        assert (await post(door, "/jobs", bob, tool="echo")).status_code == status
    assert (await door.client.delete("/v1/members/bob", headers=owner)).status_code == 204
    assert (await door.client.get("/jobs", headers=bob)).status_code == 404
    assert (await door.client.delete("/v1/members/bob", headers=owner)).status_code == 404
    assert await put_member(door, owner, "No Name", "viewer") == 422
    log = [(each["action"], each["actor"], each["facts"]) for each in await audit(door, **owner)]
    assert log[:3] == [
        ("member.removed", "olga", {"from": "runner", "to": None}),
        ("member.changed", "olga", {"from": "viewer", "to": "runner"}),
        ("member.added", "olga", {"from": None, "to": "viewer"}),
    ]


async def test_only_an_owner_makes_owners_and_one_stays(door: Door) -> None:
    owner = await user(door, "olga", {"default": "owner"})
    admin = await user(door, "adam", {"default": "admin"})
    assert await put_member(door, admin, "adam", "owner") == 403
    assert await put_member(door, admin, "olga", "viewer") == 403
    assert (await door.client.delete("/v1/members/olga", headers=admin)).status_code == 403
    assert await put_member(door, owner, "olga", "admin") == 422
    assert (await door.client.delete("/v1/members/olga", headers=owner)).status_code == 422
    assert await put_member(door, owner, "adam", "owner") == 200
    assert await put_member(door, admin, "olga", "viewer") == 200


async def test_platform_roles_are_given_and_one_stays(door: Door) -> None:
    operator = await user(door, "op", is_operator=True)
    answer = await door.client.put("/v1/users/op", json={"platformRole": None}, headers=operator)
    assert answer.status_code == 422
    answer = await door.client.put("/v1/users/second", json={"platformRole": "admin"}, headers=operator)
    assert answer.json()["platformRole"] == "admin"
    answer = await door.client.put("/v1/users/op", json={"platformRole": None}, headers=operator)
    assert "platformRole" not in answer.json()
    assert (await door.client.get("/v1/users", headers=operator)).status_code == 403


async def test_a_token_is_shown_once_used_and_revoked_at_once(door: Door) -> None:
    """O69: the request after the revocation is refused, though the token was in use."""
    owner = await user(door, "olga", {"default": "owner"})
    fresh, made = await make_token(door, owner, name="ci", expiresAt="2999-01-01T00:00:00Z")
    assert (await door.client.get("/jobs", headers=fresh)).status_code == 200

    listed = (await door.get("/v1/tokens", **owner))["items"]
    (shown,) = [each for each in listed if each["tokenId"] == made["tokenId"]]
    assert shown["name"] == "ci"
    assert "lastUsedAt" in shown
    assert "token" not in shown
    assert made["token"] not in str(listed) + str(await audit(door, "/v1/installation/audit"))

    for _ in range(2):
        answer = await door.client.delete(f"/v1/tokens/{made['tokenId']}", headers=owner)
        assert answer.status_code == 200
        assert "revokedAt" in answer.json()
    assert (await door.client.get("/jobs", headers=fresh)).status_code == 401
    actions = [each["action"] for each in await audit(door, "/v1/installation/audit")]
    assert (actions.count("token.created"), actions.count("token.revoked")) == (1, 1)


async def test_a_token_gives_no_more_than_its_maker_has(door: Door) -> None:
    owner = await user(door, "olga", {"default": "owner"}, scopes=ALL)
    admin = await user(door, "adam", {"default": "admin"})
    wrong: list[tuple[dict[str, str], dict[str, Any], int]] = [
        (owner, {"scopes": ["resources:write"]}, 403),
        (owner, {"scopes": []}, 422),
        (owner, {"scopes": ["nix"]}, 422),
        (owner, {"scopes": ALL, "name": ""}, 422),
        (owner, {"scopes": ALL, "name": "a\nb"}, 422),
        (owner, {"scopes": ALL, "expiresAt": "2001-01-01T00:00:00Z"}, 422),
        (owner, {"scopes": ALL, "expiresAt": "tomorrow"}, 422),
        (owner, {"scopes": ALL, "project": "other"}, 404),
        (owner, {"scopes": ALL, "user": "adam"}, 422),
        (owner, {"scopes": ALL, "user": "nobody", "project": "default"}, 404),
        (owner, {"worker": True}, 403),
        (admin, {"scopes": ALL, "user": "olga", "project": "default"}, 403),
    ]
    for headers, body, status in wrong:
        answer = await post(door, "/v1/tokens", headers, **{"name": "t", **body})
        assert answer.status_code == status, (body, answer.text)
    bound, made = await make_token(door, owner, project="default")
    _, narrower = await make_token(door, bound)
    assert (made["project"], narrower["project"]) == ("default", "default")


async def test_a_members_token_is_bound_to_the_project(door: Door) -> None:
    owner = await user(door, "olga", {"default": "owner", "other": "owner"})
    await user(door, "vera", {"default": "viewer", "other": "viewer"})
    vera, made = await make_token(door, owner, user="vera", project="default")
    assert made["user"] == "vera"
    assert (await door.client.get("/jobs", headers=vera)).status_code == 200
    assert (await door.client.get("/jobs", headers={**vera, "ringback-project": "other"})).status_code == 404
    assert (await post(door, "/jobs", vera, tool="echo")).status_code == 403
    stranger = {"authorization": f"Bearer {OTHER_TOKEN}"}
    assert (await door.client.delete(f"/v1/tokens/{made['tokenId']}", headers=stranger)).status_code == 404


async def test_a_workers_token_attaches_workers_and_nothing_else(door: Door) -> None:
    operator = await user(door, "op", is_operator=True)
    for body, status in (({"scopes": ["runs:read"]}, 422), ({"project": "default"}, 422)):
        assert (await post(door, "/v1/tokens", operator, name="w", worker=True, **body)).status_code == status
    worker, made = await make_token(door, operator, worker=True, scopes=[])
    assert made["scopes"] == ["worker:attach"]
    assert (await door.client.get("/jobs", headers=worker)).status_code == 403
    door.client.headers.update(worker)
    assert (await door.worker()).session_id


async def test_the_audit_log_is_paged(door: Door) -> None:
    owner = await user(door, "olga", {"default": "owner"})
    for role in ("viewer", "runner", "editor"):
        assert await put_member(door, owner, "bob", role) == 200
    for verb in ("pause", "resume"):
        assert (await door.client.post(f"/v1/queues/default/{verb}", headers=owner)).status_code == 200
    whole, pages, query = await audit(door, **owner), [], "?limit=2"
    while query:
        page = await door.get(f"/v1/audit{query}", **owner)
        pages += page["items"]
        query = f"?limit=2&cursor={page['nextCursor']}" if "nextCursor" in page else ""
    assert pages == whole
    assert [each["action"] for each in whole[:2]] == ["queue.resumed", "queue.paused"]
    for cursor in ("nix", "WyJhIiwiIl0"):
        assert (await door.client.get(f"/v1/audit?cursor={cursor}", headers=owner)).status_code == 400


async def test_who_asks_too_often_is_told_when_to_come_back(door: Door) -> None:
    owner = await user(door, "olga", {"default": "owner"})
    door.core.access.limits.per_s, door.core.access.limits.burst = 0.001, 2
    statuses = [(await door.client.get("/jobs", headers=owner)).status_code for _ in range(2)]
    answer = await door.client.get("/jobs", headers=owner)
    assert (*statuses, answer.status_code) == (200, 200, 429)
    assert (answer.json()["code"], answer.json()["retryable"]) == ("rate_limited", True)
    assert int(answer.headers["retry-after"]) > 900


async def test_an_open_stream_ends_with_its_token_or_role(door: Door) -> None:
    """O69: nothing that happens after the revocation, or after the end of a membership, is told."""
    owner = await user(door, "olga", {"default": "owner"})
    bob = await user(door, "bob", {"default": "viewer"})
    fresh, made = await make_token(door, owner, project="default")
    run_id = await door.start()

    async def revoke() -> None:
        assert (await door.client.delete(f"/v1/tokens/{made['tokenId']}", headers=owner)).status_code == 200

    async def remove() -> None:
        assert (await door.client.delete("/v1/members/bob", headers=owner)).status_code == 204

    for headers, end in ((fresh, revoke), (bob, remove)):
        async with asyncio.timeout(60), door.stream(f"/v1/runs/{run_id}/events", **headers) as messages:
            seen = [await anext(messages)]
            await end()
            await door.client.post(f"/v1/runs/{run_id}/cancel")
            seen += [message async for message in messages]
        assert [each for each in seen if each.is_final] == []
        run_id = await door.start()
