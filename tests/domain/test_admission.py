"""Admission: fair between projects, by priority and age within one, never above a key's limit."""

from __future__ import annotations

import pytest

from ringback.domain.admission import Head, key_of, lane_of, lanes_for, offer_of, pick, pool_of
from ringback.domain.ids import ProjectId
from tests.builders import NOON, head, run_id

P1, P2, P3 = ProjectId("p1"), ProjectId("p2"), ProjectId("p3")
LANE = lane_of("default", "command", None)


def picked(
    heads: list[Head],
    *,
    held: dict[tuple[ProjectId, str], int] | None = None,
    served: dict[ProjectId, int] | None = None,
    limit: int = 10,
) -> list[int]:
    """The numbers of the chosen runs."""
    chosen = pick(heads, held or {}, {} if served is None else served, limit=limit)
    numbers = {run_id(number): number for number in range(1, 100)}
    return [numbers[each] for each in chosen]


@pytest.mark.parametrize(
    ("pool", "need", "key"),
    [
        ("default", "command", None),
        ("gpu", "function:add", "deploy"),
        ("gpu", "function:pkg/mod:add", "a|b/c"),
    ],
)
def test_a_lane_is_its_parts(pool: str, need: str, key: str | None) -> None:
    lane = lane_of(pool, need, key)
    assert (pool_of(lane), offer_of(lane), key_of(lane)) == (pool, f"{pool}/{need}", key or "")


def test_lanes_that_a_worker_serves() -> None:
    add, keyed = lane_of("default", "function:add", None), lane_of("default", "command", "deploy")
    lanes = [(P1, LANE), (P1, keyed), (P2, add), (P2, LANE)]
    assert lanes_for(frozenset({"default/command"}), lanes) == [(P1, LANE), (P1, keyed), (P2, LANE)]
    assert lanes_for(frozenset(), lanes) == []


@pytest.mark.parametrize(
    ("heads", "order"),
    [
        ([head(1, ready_at=NOON + 2), head(2, ready_at=NOON + 1)], [2, 1]),
        ([head(2), head(1)], [1, 2]),
        ([head(1, priority=0), head(2, priority=5), head(3, priority=-1)], [2, 1, 3]),
        ([head(1, priority=1, ready_at=NOON + 9), head(2, priority=0)], [1, 2]),
        ([], []),
    ],
)
def test_within_a_project_by_priority_then_age(heads: list[Head], order: list[int]) -> None:
    assert picked(heads) == order


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 9])
def test_no_more_than_asked_for(limit: int) -> None:
    assert len(picked([head(number) for number in (1, 2, 3)], limit=limit)) == min(limit, 3)


def test_a_backlog_does_not_delay_another_project() -> None:
    backlog = [head(number, "p1") for number in range(1, 50)]
    assert picked([*backlog, head(60, "p2")], limit=2) == [1, 60]
    assert picked([*backlog, head(60, "p2")], held={(P1, LANE): 3}, limit=1) == [60]


def test_who_holds_least_goes_first_over_all_its_lanes() -> None:
    held = {(P1, LANE): 1, (P1, lane_of("gpu", "command", None)): 1, (P2, LANE): 1}
    heads = [head(1, "p1"), head(2, "p1"), head(3, "p2"), head(4, "p2")]
    assert picked(heads, held=held) == [3, 1, 4, 2]
    assert picked([head(1, "p1"), head(2, "p1"), head(3, "p1"), head(4, "p2")], held={(P2, LANE): 2}) == [1, 2, 4, 3]


def test_among_equals_who_was_served_longest_ago() -> None:
    heads = [head(1, "p1"), head(2, "p2"), head(3, "p3")]
    assert picked(heads, served={P1: 7, P2: 5}, limit=3) == [3, 2, 1]
    assert picked(heads, limit=3) == [1, 2, 3]
    assert picked(heads, served={P1: 1}, limit=3) == [2, 3, 1]


def test_service_is_remembered() -> None:
    served = {P3: 7}
    assert picked([head(1, "p1"), head(2, "p2"), head(3, "p1")], served=served, limit=3) == [1, 2, 3]
    assert served == {P1: 10, P2: 9, P3: 7}


@pytest.mark.parametrize(
    ("limit", "held", "chosen"),
    [
        (1, 0, [1]),
        (1, 1, []),
        (2, 0, [1, 2]),
        (2, 1, [1]),
        (2, 5, []),
        (5, 0, [1, 2, 3]),
    ],
)
def test_never_above_the_limit_of_a_key(limit: int, held: int, chosen: list[int]) -> None:
    heads = [head(number, key="deploy", concurrency_limit=limit) for number in (1, 2, 3)]
    assert picked(heads, held={(P1, lane_of("default", "command", "deploy")): held}) == chosen


def test_a_key_counts_over_all_its_lanes_and_in_its_project_only() -> None:
    elsewhere = lane_of("gpu", "function:add", "deploy")
    assert picked([head(1, key="deploy")], held={(P1, elsewhere): 1}) == []
    assert picked([head(1, key="deploy")], held={(P2, elsewhere): 1}) == [1]
    assert picked([head(1, key="deploy")], held={(P1, LANE): 1}) == [1]


def test_a_full_key_stands_in_nobodys_way() -> None:
    heads = [head(1, key="deploy", priority=9), head(2, key="deploy"), head(3), head(4, key="other")]
    assert picked(heads, held={(P1, lane_of("default", "command", "deploy")): 1}) == [3, 4]


def test_what_was_not_served_does_not_count_as_served() -> None:
    served: dict[ProjectId, int] = {}
    held = {(P1, lane_of("default", "command", "deploy")): 1}
    assert picked([head(1, key="deploy")], held=held, served=served) == []
    assert served == {}


def test_without_a_key_there_is_no_limit() -> None:
    heads = [head(number, concurrency_limit=1) for number in (1, 2, 3)]
    assert picked(heads, held={(P1, LANE): 8}) == [1, 2, 3]
