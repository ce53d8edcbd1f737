"""Runs as last committed, kept at hand by the one process that owns the ledger.

A run is touched several times within a few milliseconds (created, claimed, started, settled, waited for), and reading its row
back each time was a third of the ledger's cost. What is kept here is only ever a committed row, so it may be shown; and because a
save compares versions, a row that somebody else moved is noticed, forgotten here and read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TypeVar

from ringback.domain.ids import RunId
from ringback.domain.runs import Run, RunFacts

T = TypeVar("T")
KEPT = 2_048  # runs; bounds the memory, about 3 kB each


class Recent:
    """The newest committed state of some runs and, until they are claimed, of their facts."""

    def __init__(self) -> None:
        self._runs: OrderedDict[RunId, Run] = OrderedDict()
        self._facts: OrderedDict[RunId, RunFacts] = OrderedDict()

    def run(self, run_id: RunId) -> Run | None:
        return self._runs.get(run_id)

    def facts(self, run_id: RunId) -> RunFacts | None:
        return self._facts.get(run_id)

    def keep(self, runs: Iterable[Run], facts: Iterable[RunFacts]) -> None:
        """Take in what was just committed; the oldest give way."""
        for run in runs:
            self._runs[run.run_id] = run
            self._runs.move_to_end(run.run_id)
        for each in facts:
            self._facts[each.run_id] = each
        _trim(self._runs)
        _trim(self._facts)

    def drop(self, run_ids: Iterable[RunId]) -> None:
        """These were removed."""
        for run_id in run_ids:
            self._runs.pop(run_id, None)
            self._facts.pop(run_id, None)

    def forget(self) -> None:
        """Somebody else wrote: believe nothing."""
        self._runs.clear()
        self._facts.clear()


def _trim(kept: OrderedDict[RunId, T]) -> None:
    while len(kept) > KEPT:
        kept.popitem(last=False)
