"""Families of runs: how far they may grow, how long they may last, and what stands in trees and graphs."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.domain.errors import BudgetExceededError, InvalidInputError
from ringback.domain.runs import Run
from ringback.services.births import Parent
from ringback.services.family import family, surroundings
from tests.builders import run_id
from tests.installed import PROJECT, Installed, tool


async def parent_of(here: Installed, run: Run) -> Parent:
    """The attempt of a run that was just queued."""
    session = await here.attach(slots=1)
    (claim,) = await here.claim(session, 1)
    assert claim["runId"] == run.run_id
    await here.begin(session, claim)
    return Parent(run_id=run.run_id, fence=claim["fence"])


async def chain(here: Installed, length: int, **policy: Any) -> list[Run]:
    """Runs, each started by the one before it."""
    await here.apply(tool("root", policy=policy))
    runs = [await here.start("root")]
    for _ in range(length - 1):
        runs.append(await here.start(parent=await parent_of(here, runs[-1])))
    return runs


async def test_generations_are_bounded_by_every_ancestor(here: Installed) -> None:
    runs = await chain(here, 3, budget={"depth": 2})
    parent = await parent_of(here, runs[-1])
    with pytest.raises(BudgetExceededError) as refused:
        await here.start(parent=parent)
    assert (refused.value.run_id, refused.value.bound, refused.value.limit) == (runs[0].run_id, "depth", 2)
    assert (await here.look(runs[-1].run_id)).children == 0  # nothing was left behind


async def test_the_number_of_descendants_is_bounded_wherever_they_hang(here: Installed) -> None:
    await here.apply(tool("root", policy={"budget": {"runs": 3}}))
    root = await here.start("root")
    above = await parent_of(here, root)
    first = await here.start(parent=above)
    await here.start(parent=above)
    below = await parent_of(here, first)
    await here.start(parent=below)
    for parent in (above, below):
        with pytest.raises(BudgetExceededError, match="allows 3 runs"):
            await here.start(parent=parent)
    assert (await here.look(root.run_id)).descendants == 3


async def test_a_child_ends_no_later_than_its_parent(here: Installed) -> None:
    await here.apply(tool("root", policy={"timeouts": {"totalS": 60}}))
    root = await here.start("root")
    parent = await parent_of(here, root)
    child = await here.start(parent=parent)
    hasty = await here.start(parent=parent, total_timeout_s=5.0)
    free = await here.start(parent=Parent(run_id=root.run_id, fence=parent.fence, relation="handoff"))
    assert child.deadline_at == root.deadline_at
    assert hasty.deadline_at is not None
    assert root.deadline_at is not None
    assert hasty.deadline_at < root.deadline_at
    assert free.deadline_at is None  # what is handed over lives on its own


@pytest.mark.parametrize("budget", [{"runs": -1}, {"depth": 65}, {"depth": True}, {"cost": 1}, 5])
async def test_a_wrong_budget_is_refused(here: Installed, budget: Any) -> None:
    with pytest.raises(InvalidInputError, match="/policy/budget"):
        await here.apply(tool("root", policy={"budget": budget}))


async def test_a_follow_up_hangs_below_what_it_goes_on_from(here: Installed) -> None:
    first = await here.start()
    second = await here.start(follow_up_of=first.run_id)
    tree = await family(here.core.runs, PROJECT, first)
    assert [(branch.run.run_id, branch.relation) for branch in tree.children] == [(second.run_id, "follow_up")]
    for strange in (run_id(77), "no-id"):
        with pytest.raises(InvalidInputError, match="/follow_up_of: no such run"):
            await here.start(follow_up_of=strange)


async def test_a_graph_shows_every_kind_of_edge_from_wherever_it_is_asked(here: Installed) -> None:
    root = await here.start()
    child = await here.start(parent=await parent_of(here, root))
    waits = await here.start(depends_on=(child.run_id,))
    again = (await here.core.starting.rerun(root, "me", idempotency_key=None, request_id="r")).run
    edges = {
        (root.run_id, child.run_id, "tool_subrun"),
        (waits.run_id, child.run_id, "depends_on"),
        (again.run_id, root.run_id, "rerun_of"),
    }
    for start in (root, child, waits, again):
        graph = await surroundings(here.core.runs, PROJECT, start)
        assert {(link.from_run_id, link.to_run_id, link.relation) for link in graph.links} == edges
        assert set(graph.runs) == {root.run_id, child.run_id, waits.run_id, again.run_id}
