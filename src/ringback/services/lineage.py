"""Where a new run stands in its family, and whether the family may still grow.

A run's policy may bound what comes from it: how many runs, how many generations. Every ancestor's bound counts, and each root
has one even if it names none, so that a recursion that went wild ends by itself. Time is bounded too: a child that is stopped
with its parent has no later deadline than it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.budget import Budget, budget_of
from ringback.domain.ids import RunId
from ringback.domain.runs import RunFacts
from ringback.ports.store import Store

GENERATIONS_MAX = 64


@dataclass(frozen=True, slots=True)
class Bound:
    """An ancestor that bounds its family, how far above the new run it is, and what it allows."""

    run_id: RunId
    generations: int
    budget: Budget


async def bounds_above(store: Store, parent_id: RunId) -> list[Bound]:
    """Every bound that a child of `parent_id` must respect, the nearest first."""
    found: list[Bound] = []
    at: RunId | None = parent_id
    for generations in range(1, GENERATIONS_MAX + 1):
        facts: RunFacts | None = (await store.reads.facts([at])).get(at) if at is not None else None
        if facts is None:
            break
        budget = _budget(facts.policy, is_root=facts.parent_id is None or generations == GENERATIONS_MAX)
        if budget is not None:
            found.append(Bound(facts.run_id, generations, budget))
        at = facts.parent_id
    return found


def _budget(policy: Mapping[str, Any], *, is_root: bool) -> Budget | None:
    return budget_of(policy) if is_root or policy.get("budget") else None
