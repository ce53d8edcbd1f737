"""Who goes next when there is more work than hands: fair between projects, by priority within one, never above a key's limit.

A run queues in a *lane*: the pool, what it needs of a worker, and its concurrency key, if any. Runs of one lane differ only in
priority and age, so a full key or a missing function stands in nobody else's way, and a claim looks at lane heads alone.

Fairness: the project that holds the fewest attempts goes first; among equals, the one that was served longest ago.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

from ringback.domain.ids import ProjectId, RunId
from ringback.domain.moments import Moment

_SEPARATOR = "|"


def lane_of(pool: str, need: str, concurrency_key: str | None) -> str:
    """`pool/need`, what a worker offers, plus the key that limits the lane."""
    return f"{pool}/{need}{_SEPARATOR}{concurrency_key or ''}"


def offer_of(lane: str) -> str:
    """The `pool/need` that a worker must offer to serve `lane`."""
    return lane.split(_SEPARATOR, 1)[0]


def pool_of(lane: str) -> str:
    return lane.split("/", 1)[0]


def key_of(lane: str) -> str:
    """The concurrency key of `lane`, or an empty string."""
    return lane.split(_SEPARATOR, 1)[1]


@dataclass(frozen=True, slots=True)
class Head:
    """A run at or near the head of its lane."""

    run_id: RunId
    project_id: ProjectId
    lane: str
    priority: int
    ready_at: Moment
    concurrency_limit: int


def pick(
    heads: Iterable[Head],
    held: Mapping[tuple[ProjectId, str], int],
    served: MutableMapping[ProjectId, int],
    *,
    limit: int,
) -> list[RunId]:
    """Choose up to `limit` runs, in the order in which they are to be claimed.

    Args:
        heads: candidates, any order.
        held: attempts under way, by project and lane.
        served: when each project was last served, on a counter of its own; brought up to date here.
    """
    waiting: dict[ProjectId, list[Head]] = {}
    for head in heads:
        waiting.setdefault(head.project_id, []).append(head)
    for queue in waiting.values():
        queue.sort(key=lambda head: (-head.priority, head.ready_at, head.run_id), reverse=True)  # the next one is last
    by_project: Counter[ProjectId] = Counter()
    by_key: Counter[tuple[ProjectId, str]] = Counter()
    for (project_id, lane), count in held.items():
        by_project[project_id] += count
        by_key[project_id, key_of(lane)] += count
    turn = max(served.values(), default=0)
    chosen: list[RunId] = []
    while waiting and len(chosen) < limit:
        project_id = min(waiting, key=lambda each: (by_project[each], served.get(each, 0), each))
        queue = waiting[project_id]
        head = queue.pop()
        if not queue:
            del waiting[project_id]
        key = (project_id, key_of(head.lane))
        if key[1] and by_key[key] >= head.concurrency_limit:
            continue
        chosen.append(head.run_id)
        by_project[project_id] += 1
        by_key[key] += 1
        turn += 1
        served[project_id] = turn
    return chosen


def lanes_for(offers: frozenset[str], lanes: Iterable[tuple[ProjectId, str]]) -> Sequence[tuple[ProjectId, str]]:
    """Those of `lanes` that a worker with `offers` can serve."""
    return [(project_id, lane) for project_id, lane in lanes if offer_of(lane) in offers]
