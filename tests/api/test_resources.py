"""The catalogue over HTTP: kinds, revisions, channels, aliases, and inputs that must fit the kind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.door import TOOL, Door

AT = "/v1/resources/tool/echo"
SERVER: dict[str, Any] = {
    "resourceType": "mcp_server",
    "name": "files",
    "runtime": "mcp",
    "profile": {"server": {"command": ["true"], "secrets": ["FILES_TOKEN"]}},
}


async def apply(door: Door, *definitions: Any, **more: Any) -> list[dict[str, Any]]:
    answer = await door.client.put("/v1/resources", json={"definitions": list(definitions), **more})
    assert answer.status_code == 200, answer.text
    changes: list[dict[str, Any]] = answer.json()["changes"]
    return changes


async def test_a_dry_run_shows_the_difference_and_changes_nothing(door: Door) -> None:
    before = (await door.get(AT))["channels"]
    (change,) = await apply(door, {**TOOL, "description": "Anew"}, dryRun=True)
    assert (change["change"], change["diff"]) == ("changed", {"/description": {"from": "Say it again", "to": "Anew"}})
    assert (await door.get(AT))["channels"] == before


async def test_a_canary_is_tried_released_and_taken_back(door: Door) -> None:
    (change,) = await apply(door, {**TOOL, "description": "Anew"}, releaseChannel="canary")
    run_id = await door.start(releaseChannel="canary")
    assert (await door.run(run_id))["resourceRevisionId"] == change["revisionId"]
    assert (await door.run(run_id))["releaseChannelId"] == "canary"
    old = (await door.get(AT))["channels"][-1]["revisionId"]
    body = {"revisionId": change["revisionId"], "expectedRevisionId": old}
    assert (await door.client.put(f"{AT}/channels/stable", json=body)).json()["version"] == 2
    moved = await door.client.put(f"{AT}/channels/stable", json=body)
    assert (moved.status_code, moved.json()["code"]) == (409, "channel_moved")
    assert (await door.client.post(f"{AT}/channels/stable/rollback")).json()["revisionId"] == old
    listed = (await door.get(f"{AT}/revisions"))["items"]
    assert {tuple(each["channels"]) for each in listed} == {("canary",), ("stable",)}
    history = (await door.get(f"{AT}/channels/stable/switches"))["items"]
    assert [each["action"] for each in history[:2]] == ["channel.switched", "channel.switched"]
    digest = change["revisionId"].partition("@")[2]
    assert (await door.get(f"{AT}/revisions/{digest}"))["definition"]["description"] == "Anew"


async def test_a_run_keeps_its_snapshots_when_channels_move(door: Door) -> None:
    """R2: the revision, the profile and the policy are frozen at creation."""
    run_id = await door.start()
    before = await door.run(run_id)
    await apply(door, {**TOOL, "policy": {"priority": 7}, "profile": {"pool": "elsewhere"}})
    after = await door.run(run_id)
    frozen = ("resourceRevisionId", "executionProfileSnapshot", "runPolicySnapshot", "input")
    assert [after[name] for name in frozen] == [before[name] for name in frozen]


async def test_an_alias_is_put_used_and_removed(door: Door) -> None:
    put = await door.client.put("/v1/aliases/say", json={"name": "echo"})
    assert put.json() == {"alias": "say", "resourceType": "tool", "name": "echo", "createdBy": put.json()["createdBy"]}
    assert (await door.run(await door.start(tool="say")))["resourceId"].endswith(":echo")
    assert (await door.client.delete("/v1/aliases/say")).status_code == 204
    gone = await door.client.post("/v1/runs", json={"tool": "say"})
    assert gone.status_code == 404


@pytest.mark.parametrize(
    ("alias", "body", "status"),
    [
        ("echo", {"name": "echo"}, 422),
        ("Bad", {"name": "echo"}, 422),
        ("say", {"name": "nothing"}, 404),
        ("say", {}, 422),
        ("say", {"name": "echo", "grantId": "grant:1"}, 422),
        ("say", {"grantId": "grant:1"}, 404),
    ],
)
async def test_a_wrong_alias_is_refused(door: Door, alias: str, body: Any, status: int) -> None:
    assert (await door.client.put(f"/v1/aliases/{alias}", json=body)).status_code == status
    assert (await door.get("/v1/aliases"))["items"] == []


async def test_resources_of_every_kind_are_listed_and_withdrawn(door: Door) -> None:
    await apply(door, SERVER)
    listed = (await door.get("/v1/resources"))["items"]
    assert [(each["resourceType"], each["name"]) for each in listed] == [("mcp_server", "files"), ("tool", "echo")]
    assert (await door.get("/v1/resources?type=mcp_server"))["items"] == listed[:1]
    assert (await door.client.get("/v1/resources?type=cron")).status_code == 422
    withdrawn = await door.client.delete("/v1/resources/mcp_server/files")
    assert "revisionId" not in withdrawn.json()
    again = await door.client.post(
        "/v1/runs", json={"resourceId": "files", "input": {"mode": "mcp_server", "clientInfo": {}}}
    )
    assert again.status_code == 404


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"resourceType": "mcp_server", "resourceId": "files", "input": {"mode": "tool"}}, "/input/mode"),
        ({"tool": "echo", "input": {"mode": "agent", "messages": []}}, "/input/mode"),
        ({"resourceType": "agent", "tool": "echo", "input": {"mode": "agent", "messages": []}}, "/tool"),
        ({"tool": "echo", "resourceId": "echo"}, "/resourceId"),
        ({"resourceId": "echo", "resourceRevisionId": "x", "releaseChannel": "y"}, "/releaseChannel"),
    ],
)
async def test_an_input_must_fit_the_kind_of_resource(door: Door, body: dict[str, Any], pointer: str) -> None:
    """R2: each kind has its own input, and a tool's never poses as a conversation."""
    answer = await door.client.post("/v1/runs", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "agent", "messages": [{"role": "tool", "content": ""}]},
        {"mode": "agent", "messages": [], "surprise": 1},
        {"mode": "agent", "messages": [], "ephemeralTools": [{"name": "x"}]},
        {"mode": "mcp_server"},
        {"mode": "tool", "messages": []},
    ],
)
async def test_an_input_of_the_wrong_shape_is_refused_by_name(door: Door, given: Any) -> None:
    answer = await door.client.post("/v1/runs", json={"resourceId": "echo", "input": given})
    assert answer.status_code in (400, 422)
    assert answer.json()["code"] in ("invalid_input", "malformed_body", "invalid_body")
