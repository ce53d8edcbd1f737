"""Release channels: what is frozen, what is switched, who is told when two switch at once, and the way back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ringback.domain.errors import ChannelMovedError, InvalidInputError, NotFoundError
from ringback.services.channels import Channels, Reference
from tests.installed import PROJECT, Installed, tool

ECHO = Reference(project_id=PROJECT, kind="tool", name="echo")


async def two_revisions(here: Installed) -> tuple[str, str]:
    """The ids of echo's revisions, the older first."""
    await here.apply(tool(description="second"))
    rows = await here.core.catalogue.channels.revisions(ECHO)
    pointing = (await here.core.catalogue.resources.resolve(PROJECT, "echo")).revision_id
    (older,) = [row["revision_id"] for row in rows if row["revision_id"] != pointing]
    return older, pointing


async def test_a_switch_changes_what_is_started_and_no_run_that_exists(here: Installed) -> None:
    older, newer = await two_revisions(here)
    before = await here.start()
    row = await here.core.catalogue.channels.switch(ECHO, "stable", older, actor="me")
    after = await here.start()
    facts = await here.core.store.reads.facts([before.run_id, after.run_id])
    assert row["revision_id"] == older
    assert [facts[run.run_id].revision_id for run in (before, after)] == [newer, older]


async def test_a_channel_is_asked_for_by_name_and_so_is_a_revision(here: Installed) -> None:
    older, newer = await two_revisions(here)
    await here.core.catalogue.channels.switch(ECHO, "canary", older, actor="me")
    canary = await here.start(channel="canary")
    pinned = await here.start(tool="", revision_id=newer)
    facts = await here.core.store.reads.facts([canary.run_id, pinned.run_id])
    assert (facts[canary.run_id].revision_id, facts[canary.run_id].channel_id) == (older, "canary")
    assert (facts[pinned.run_id].revision_id, facts[pinned.run_id].channel_id) == (newer, None)
    with pytest.raises(NotFoundError):
        await here.start(channel="beta")


async def test_of_two_who_switch_from_the_same_place_one_is_told(here: Installed) -> None:
    older, newer = await two_revisions(here)
    channels = here.core.catalogue.channels
    switches = (channels.switch(ECHO, "stable", older, actor=str(n), expected=newer) for n in range(8))
    answers = await asyncio.gather(*switches, return_exceptions=True)
    told = [answer for answer in answers if isinstance(answer, ChannelMovedError)]
    assert len(told) >= 1
    assert [each.revision_id for each in told] == [older] * len(told)
    assert [row["to"] for row in await channels.switches(ECHO, "stable")].count(
        older
    ) == 2  # its release, and one switch


async def test_a_rollback_leads_back_and_a_second_one_forth(here: Installed) -> None:
    older, newer = await two_revisions(here)
    channels = here.core.catalogue.channels
    assert (await channels.rollback(ECHO, "stable", actor="me"))["revision_id"] == older
    assert (await channels.rollback(ECHO, "stable", actor="me"))["revision_id"] == newer
    history = await channels.switches(ECHO, "stable")
    assert [(row.get("from"), row["to"]) for row in history[:2]] == [(older, newer), (newer, older)]
    with pytest.raises(NotFoundError):
        await channels.rollback(ECHO, "canary", actor="me")


@pytest.mark.parametrize("name", ["", "Stable", "a b", "x" * 33, "-"])
async def test_a_name_that_no_channel_may_have_is_refused(here: Installed, name: str) -> None:
    older, _ = await two_revisions(here)
    channels = here.core.catalogue.channels
    with pytest.raises(InvalidInputError, match="/channel"):
        await channels.switch(ECHO, name, older, actor="me")
    with pytest.raises(InvalidInputError, match="/releaseChannel"):
        await channels.apply(PROJECT, [tool()], channel=name, actor="me")


async def test_revisions_of_other_resources_are_unknown(here: Installed) -> None:
    await here.apply(tool("other"))
    other = await here.core.catalogue.resources.resolve(PROJECT, "other")
    with pytest.raises(NotFoundError):
        await here.core.catalogue.channels.switch(ECHO, "stable", other.revision_id, actor="me")


async def test_workers_that_bring_the_same_tools_at_once_do_not_disturb_each_other(here: Installed) -> None:
    apply = here.core.catalogue.resources.apply
    news = [tool(f"t{n}") for n in range(5)]
    answers = await asyncio.gather(*(apply(PROJECT, news, actor=str(n)) for n in range(12)))
    assert all(len(answer) == 5 for answer in answers)
    rows = await Channels.channels(here.core.catalogue.channels, Reference(project_id=PROJECT, kind="tool", name="t3"))
    assert [(row["name"], row["version"]) for row in rows] == [("stable", 1)]


async def test_one_name_may_stand_for_resources_of_two_kinds(here: Installed) -> None:
    server: dict[str, Any] = {
        "resourceType": "mcp_server",
        "name": "echo",
        "runtime": "mcp",
        "profile": {"server": {"command": ["true"]}},
    }
    await here.apply(server)
    found = await here.core.catalogue.resources.resolve(PROJECT, "echo", kind="mcp_server")
    assert (found.type, (await here.core.catalogue.resources.resolve(PROJECT, "echo")).type) == ("mcp_server", "tool")
