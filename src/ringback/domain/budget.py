"""How large the family of a run may grow: a bound against recursion that went wild."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.errors import BudgetExceededError
from ringback.domain.ids import RunId

RUNS_DEFAULT = 10_000
DEPTH_DEFAULT = 32


@dataclass(frozen=True, slots=True)
class Budget:
    """At most so many descendants, at most so many generations below the run itself."""

    runs: int = RUNS_DEFAULT
    depth: int = DEPTH_DEFAULT

    def grown(self, run_id: RunId, descendants: int, generations: int) -> int:
        """The number of descendants with one more, so many generations below.

        Raises:
            BudgetExceededError: that is more than the budget allows.
        """
        if generations > self.depth:
            raise BudgetExceededError(run_id, "depth", self.depth)
        if descendants >= self.runs:
            raise BudgetExceededError(run_id, "runs", self.runs)
        return descendants + 1


def budget_of(policy: Mapping[str, Any]) -> Budget:
    """The budget in a policy in its public JSON shape; what it does not bound, the default bounds."""
    given = policy.get("budget") or {}
    return Budget(runs=given.get("runs", RUNS_DEFAULT), depth=given.get("depth", DEPTH_DEFAULT))
