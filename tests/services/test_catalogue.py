"""Tools, access and queues."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.domain.errors import (
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    ProjectRequiredError,
    StorageFullError,
    UnauthenticatedError,
)
from ringback.domain.ids import ProjectId
from ringback.domain.moments import MINUTE
from ringback.ports.store import Desk
from ringback.services.access import SCOPES, new_token
from ringback.store.connection import Connection
from tests.installed import ECHO, PROJECT, Installed, tool


async def test_applying_says_what_it_changes_and_does_it_once(here: Installed) -> None:
    news = [tool("fresh"), dict(ECHO), tool(description="Another text.")]

    dry = await here.core.catalogue.resources.apply(PROJECT, [news[0], news[2]], actor="me", is_dry_run=True)
    wet = await here.core.catalogue.resources.apply(PROJECT, [news[0], news[2]], actor="me")
    again = await here.core.catalogue.resources.apply(PROJECT, [news[0], news[2]], actor="me")

    assert [change.change for change in dry] == [change.change for change in wet] == ["added", "changed"]
    assert [change.change for change in again] == ["unchanged", "unchanged"]
    assert wet[1].previous_revision_id != wet[1].revision_id


@pytest.mark.parametrize(
    ("definition", "pointer"),
    [
        pytest.param(tool("Bad Name"), "/name", id="name"),
        pytest.param(tool(runtime="magic"), "/runtime", id="runtime"),
        pytest.param(tool(mode="later"), "/mode", id="mode"),
        pytest.param(tool(description=5), "/description", id="description"),
        pytest.param(tool(surprise=1), "/surprise", id="unknown"),
        pytest.param(tool(profile="x"), "/profile", id="profile"),
        pytest.param(tool(profile={"command": ["x"], "pool": "a|b"}), "/profile/pool", id="pool"),
        pytest.param(tool(profile={}), "/profile/command", id="no-command"),
        pytest.param(tool(policy={"priority": True}), "/policy/priority", id="priority"),
        pytest.param(tool(policy={"cancelGraceS": "x"}), "/policy/cancelGraceS", id="grace"),
        pytest.param(tool(policy={"retry": 3}), "/policy/retry", id="retry"),
        pytest.param(tool(policy={"retry": {"attemptsMax": 0}}), "/policy/retry/attemptsMax", id="attempts"),
        pytest.param(tool(policy={"timeouts": {"attempt": 1}}), "/policy/timeouts/attempt", id="timeouts"),
        pytest.param(tool(policy={"idempotent": "yes"}), "/policy/idempotent", id="flag"),
        pytest.param(tool(policy={"concurrencyKey": ""}), "/policy/concurrencyKey", id="key"),
        pytest.param({**tool(), "policy": []}, "/policy", id="policy"),
        pytest.param(tool(inputSchema={"type": "nonsense"}), "/inputSchema", id="schema"),
        pytest.param(tool(summary={"regex": "("}), "/summary", id="summary"),
        pytest.param(tool(inputSchema={"type": "object", "properties": {}}), "/profile/command/1", id="template"),
    ],
)
async def test_a_wrong_definition_is_refused_whole(here: Installed, definition: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await here.core.catalogue.resources.apply(PROJECT, [tool("fresh"), definition], actor="me")

    assert any(flaw.pointer.startswith(f"/definitions/1{pointer}") for flaw in refused.value.flaws), refused.value
    with pytest.raises(NotFoundError):
        await here.core.catalogue.resources.resolve(PROJECT, "fresh")


async def test_a_name_given_twice_and_too_many_are_refused(here: Installed) -> None:
    with pytest.raises(InvalidInputError, match="named twice"):
        await here.core.catalogue.resources.apply(PROJECT, [tool("a"), tool("a")], actor="me")
    with pytest.raises(InvalidInputError, match="at most 1000"):
        await here.core.catalogue.resources.apply(PROJECT, [tool(f"t{n}") for n in range(1001)], actor="me")


async def test_a_token_opens_what_its_scopes_allow(here: Installed) -> None:
    token, access = new_token(), here.core.access
    await access.remember(token, owner="me", scopes=["runs:read"])
    await access.remember(token, owner="me", scopes=["runs:read"])

    caller = await access.authenticate(token)

    assert access.authorize(caller, "runs:read").slug == "default"
    assert access.project(PROJECT).slug == "default"
    with pytest.raises(ForbiddenError, match="runs:write"):
        access.authorize(caller, "runs:write")
    with pytest.raises(NotFoundError):
        access.authorize(caller, "runs:read", "other")


@pytest.mark.parametrize("token", [None, "", "rbp_", "rbp_unknown", "other", "rbp_" + "x" * 500])
async def test_every_token_that_is_not_valid_is_refused_alike(here: Installed, token: str | None) -> None:
    """O69."""
    with pytest.raises(UnauthenticatedError, match="a valid bearer token is needed"):
        await here.core.access.authenticate(token)


@pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
async def test_a_revoked_or_expired_token_is_refused(here: Installed, column: str) -> None:
    token = new_token()
    await here.core.access.remember(token, owner="me", scopes=SCOPES)
    here.clock.advance(MINUTE)
    await end_tokens(here, column)

    with pytest.raises(UnauthenticatedError):
        await here.core.access.authenticate(token)


async def end_tokens(here: Installed, column: str) -> None:
    db = Connection(here.path)
    db.run(f"UPDATE tokens SET {column} = :now", {"now": here.clock.now()})
    db.close()


async def test_the_use_of_a_token_is_noted_now_and_then(here: Installed) -> None:
    token = new_token()
    await here.core.access.remember(token, owner="me", scopes=SCOPES)
    for _ in range(3):
        await here.core.access.authenticate(token)
        here.clock.advance(2 * MINUTE)

    (row,) = await here.core.store.reads.rows("token_by_digest", {"digest": here.core.access.digest(token)})
    assert row["last_used_at"] == here.clock.now() - 2 * MINUTE


async def test_a_full_disk_keeps_nobody_from_reading(here: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    """O55: that the use of a token can't be noted is no reason to refuse it."""
    token = new_token()
    await here.core.access.remember(token, owner="me", scopes=SCOPES)

    async def refuse(*_: object, **__: object) -> None:
        raise StorageFullError

    monkeypatch.setattr(type(here.core.store), "commit", refuse)
    principal = await here.core.access.authenticate(token)
    monkeypatch.undo()
    assert principal.owner == "me"


async def test_many_tokens_do_not_fill_the_memory(here: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringback.services.access._CACHE_MAX", 2)
    tokens = [new_token() for _ in range(4)]
    for token in tokens:
        await here.core.access.remember(token, owner="me", scopes=SCOPES)
        await here.core.access.authenticate(token)

    assert len(here.core.access._known) <= 2


async def test_the_project_must_be_named_where_there_are_several(here: Installed) -> None:
    now = {"created_at": 0}

    def work(desk: Desk) -> None:
        desk.write("insert_project", {"project_id": "p2", "org_id": "local", "slug": "second", "name": "second", **now})

    await here.core.store.commit(work)
    await here.core.access.install()
    free, bound = new_token(), new_token()
    await here.core.access.remember(free, owner="me", scopes=SCOPES)
    await here.core.access.remember(bound, owner="me", scopes=SCOPES, project_id=ProjectId("p2"))
    everywhere, one = await here.core.access.authenticate(free), await here.core.access.authenticate(bound)

    with pytest.raises(ProjectRequiredError):
        here.core.access.authorize(everywhere, "runs:read")
    assert here.core.access.authorize(everywhere, "runs:read", "second").project_id == "p2"
    assert here.core.access.authorize(one, "runs:read").slug == "second"
    with pytest.raises(NotFoundError):
        here.core.access.authorize(one, "runs:read", "default")


async def test_a_pause_outlives_a_restart_and_is_listed(here: Installed) -> None:
    queues = here.core.queues
    await queues.pause(PROJECT, "default", by="me")
    await queues.pause(PROJECT, "default", by="you")
    queues.claims.paused = set()
    await queues.load()

    assert queues.is_paused(PROJECT, "default")
    assert [(row["pool"], row["paused_by"]) for row in await queues.list(PROJECT)] == [("default", "me")]
    with pytest.raises(InvalidInputError):
        await queues.pause(PROJECT, "no such/pool", by="me")
