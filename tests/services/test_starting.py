"""Starting: checked, frozen, durable, once per key."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ringback.domain.errors import (
    DependencyError,
    IdempotencyConflictError,
    IdempotencyKeyError,
    InvalidInputError,
    NotFoundError,
    StaleFenceError,
)
from ringback.domain.ids import job_id_of
from ringback.domain.moments import SECOND, rfc3339
from ringback.domain.runs import AttemptOutcome
from ringback.domain.states import Status
from ringback.services.births import Parent
from tests.builders import NOON, run_id
from tests.installed import PROJECT, Installed, tool


async def test_snapshots_are_frozen_at_creation(here: Installed) -> None:
    """A later revision of the tool changes no run."""
    run = await here.start()
    await here.apply(tool(policy={"priority": 9}, profile={"command": ["printf", "{text}", "{count}"]}))

    facts = (await here.core.store.reads.facts([run.run_id]))[run.run_id]
    later = await here.start()

    assert facts.profile == {"runtime": "command", "command": ["echo", "{text}", "{count}"]}
    assert (await here.look(run.run_id)).policy.priority == 0
    assert later.policy.priority == 9
    assert facts.revision_id != (await here.core.store.reads.facts([later.run_id]))[later.run_id].revision_id


async def test_fifty_racing_requests_with_one_key_start_one_run(here: Installed) -> None:
    """O23."""
    answers = await asyncio.gather(*(here.started(idempotency_key="k") for _ in range(50)))

    assert len({answer.run.run_id for answer in answers}) == 1
    assert [answer.is_replay for answer in answers].count(False) == 1
    page = await here.core.runs.page(PROJECT)
    assert len(page.items) == 1


@pytest.mark.parametrize("outcome", [AttemptOutcome.SUCCEEDED, AttemptOutcome.FAILED])
async def test_a_key_stands_for_its_run_whatever_became_of_it(here: Installed, outcome: AttemptOutcome) -> None:
    """O24."""
    first = await here.started(idempotency_key="k")
    await here.run_once(await here.attach(), outcome)

    again = await here.started(idempotency_key="k")

    assert (again.run.run_id, again.is_replay) == (first.run.run_id, True)


async def test_a_key_with_another_payload_is_refused_and_changes_nothing(here: Installed) -> None:
    """O25."""
    first = await here.start(idempotency_key="k")

    with pytest.raises(IdempotencyConflictError, match=first.run_id):
        await here.start(idempotency_key="k", arguments={"text": "other"})

    assert await here.look(first.run_id) == first


async def test_payloads_are_compared_as_values(here: Installed) -> None:
    """O26: member order and 1 against 1.0 don't count; a default spelled out does."""
    first = await here.start(idempotency_key="k", arguments={"text": "é", "count": 1})

    same = await here.started(idempotency_key="k", arguments={"count": 1.0, "text": "\u00e9"})

    assert same.run.run_id == first.run_id
    with pytest.raises(IdempotencyConflictError):
        await here.started(idempotency_key="k", arguments={"count": 1, "text": "é"}, priority=0)


async def test_keys_of_different_owners_do_not_meet(here: Installed) -> None:
    mine = await here.started(idempotency_key="k", owner="me")
    yours = await here.started(idempotency_key="k", owner="you")

    assert mine.run.run_id != yours.run.run_id


async def test_a_tool_may_demand_a_key(here: Installed) -> None:
    await here.apply(tool("deploy", requiresIdempotencyKey=True))

    with pytest.raises(IdempotencyKeyError, match="deploy"):
        await here.start("deploy")

    assert await here.start("deploy", idempotency_key="k")


async def test_an_unknown_tool_is_not_found(here: Installed) -> None:
    with pytest.raises(NotFoundError, match="no such tool: 'nope'"):
        await here.start("nope")


@pytest.mark.parametrize(
    ("request_", "pointer"),
    [
        pytest.param({"arguments": {"text": 5}}, "/arguments/text", id="wrong-type"),
        pytest.param({"arguments": {"more": 1}}, "/arguments", id="unknown-argument"),
        pytest.param({"arguments": {"text": "--version"}}, "/arguments/text", id="option-injection"),
        pytest.param({"arguments": {"text": "a\0b"}}, "/arguments/text", id="nul"),
        pytest.param({"arguments": {"text": "x\ud83d"}}, "/arguments/text", id="surrogate"),
        pytest.param({"tags": ("",)}, "/tags", id="empty-tag"),
        pytest.param({"tags": ("a\0",)}, "/tags/0", id="nul-in-tag"),
        pytest.param({"thread_id": "t" * 201}, "/thread_id", id="long-thread"),
        pytest.param({"run_on": "never"}, "/run_on", id="run-on"),
        pytest.param({"timeout_s": 0.0}, "/timeout_seconds", id="no-time"),
        pytest.param({"total_timeout_s": 1e12}, "/total_timeout_seconds", id="too-much-time"),
        pytest.param({"priority": 10**9}, "/priority", id="priority"),
        pytest.param({"not_before": "2027-03-28 02:30"}, "/not_before", id="naive-moment"),
        pytest.param({"depends_on": tuple(str(n) for n in range(101))}, "/depends_on", id="too-many-upstream"),
        pytest.param({"caller_context": {"x": "\0"}}, "/callerContext/x", id="nul-in-context"),
    ],
)
async def test_what_is_wrong_is_named_by_its_pointer(here: Installed, request_: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        await here.start(**request_)

    assert pointer in {flaw.pointer for flaw in refused.value.flaws}
    assert (await here.core.runs.page(PROJECT)).items == []


@pytest.mark.parametrize("name", [run_id(7), job_id_of(run_id(7)), "nonsense", ""])
async def test_an_upstream_that_cannot_be_seen_is_refused_with_one_wording(here: Installed, name: str) -> None:
    """O48."""
    known = await here.start()

    with pytest.raises(DependencyError, match="/depends_on/1: no such run"):
        await here.start(depends_on=(known.run_id, name))


async def test_an_upstream_named_twice_counts_once(here: Installed) -> None:
    """O48."""
    first = await here.start()
    second = await here.start(depends_on=(first.run_id, job_id_of(first.run_id)))

    assert second.waiting_on == (first.run_id,)


async def test_limits_of_the_request_override_the_tool(here: Installed) -> None:
    await here.apply(tool(policy={"timeouts": {"attemptS": 60, "idleS": 5}, "priority": 1}))

    run = await here.start(timeout_s=2, total_timeout_s=30, priority=4, caller_context={"turn": 3}, context_id="c")

    assert (run.policy.limits.attempt, run.policy.limits.idle, run.deadline_at) == (
        2 * SECOND,
        5 * SECOND,
        NOON + 30 * SECOND,
    )
    assert run.policy.priority == 4
    facts = (await here.core.store.reads.facts([run.run_id]))[run.run_id]
    assert facts.input == {"mode": "tool", "arguments": {"text": "hello"}, "callerContext": {"turn": 3}}


async def test_a_start_time_with_an_offset_is_one_moment(here: Installed) -> None:
    """O21."""
    run = await here.start(not_before="2027-03-28T02:30:00+05:45")

    assert rfc3339(run.not_before or 0) == "2027-03-27T20:45:00.000000Z"


async def test_a_child_is_linked_to_the_attempt_that_started_it(here: Installed) -> None:
    parent = await here.start()
    session = await here.attach()
    (claim,) = await here.claim(session)
    await here.begin(session, claim)

    child = await here.start(parent=Parent(run_id=parent.run_id, fence=claim["fence"]))

    (link,) = await here.core.store.reads.links(parent.run_id)
    assert (link.to_run_id, link.relation) == (child.run_id, "tool_subrun")
    assert (await here.look(parent.run_id)).children == 1
    assert len(await here.core.runs.links(child)) == 1


async def test_a_superseded_attempt_starts_no_child(here: Installed) -> None:
    """O06."""
    parent = await here.start()

    with pytest.raises(StaleFenceError):
        await here.start(parent=Parent(run_id=parent.run_id, fence=1))

    assert len((await here.core.runs.page(PROJECT)).items) == 1


async def test_a_dependent_of_a_failed_run_is_born_failed(here: Installed) -> None:
    first = await here.start()
    await here.run_once(await here.attach(), AttemptOutcome.FAILED)

    second = await here.start(depends_on=(first.run_id,))

    assert second.status is Status.FAILED
