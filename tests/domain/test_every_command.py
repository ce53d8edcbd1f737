"""Every command in every status: a table with a decision in each cell, so a new command or status has to be decided, too."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from ringback.domain.budget import Budget
from ringback.domain.decide import decide
from ringback.domain.errors import IllegalTransitionError, StaleFenceError
from ringback.domain.events import EVENT_TYPES
from ringback.domain.ids import InteractionId
from ringback.domain.moments import HOUR, MINUTE, SECOND
from ringback.domain.runs import (
    Append,
    Ask,
    AttemptOutcome,
    Cancel,
    CloseInteraction,
    Command,
    Continue,
    NewEvent,
    NoteChild,
    NoteDependent,
    NoteDescendant,
    Occupy,
    Start,
    Tick,
    UpstreamEnded,
)
from ringback.domain.states import Status
from tests.builders import NOON, claim, in_status, lose, policy, run_id, settle

SOON = NOON + 1
LATE = NOON + HOUR
OUTPUT = NewEvent("output.chunk", {"stream": "stdout", "offset": 0}, b"x")

# A word for each status in the order of the heading: the status that follows; "noted": it stays and something is recorded;
# "same": nothing changes; "stale", "illegal": refused. Policy: one attempt, limits of ten minutes for everything.
HEADING = "queued     submitted  running    retrying   canceling  succeeded  failed     canceled"
TABLE: list[tuple[str, Command, int, str]] = [
    ("claim", claim(2), SOON,
     "submitted  illegal    illegal    submitted  illegal    illegal    illegal    illegal"),
    ("start", Start(1), SOON,
     "stale      running    same       stale      same       stale      stale      stale"),
    ("occupy", Occupy(1, "space1"), SOON,
     "stale      noted      noted      stale      noted      stale      stale      stale"),
    ("append", Append(1, (OUTPUT,)), SOON,
     "stale      noted      noted      stale      noted      stale      stale      stale"),
    ("append nothing", Append(1, ()), SOON,
     "stale      same       same       stale      same       stale      stale      stale"),
    ("settle succeeded", settle(), SOON,
     "stale      illegal    succeeded  stale      succeeded  stale      stale      stale"),
    ("settle failed", settle(AttemptOutcome.FAILED), SOON,
     "stale      failed     failed     stale      failed     stale      stale      stale"),
    ("settle timed out", settle(AttemptOutcome.TIMED_OUT), SOON,
     "stale      failed     failed     stale      failed     stale      stale      stale"),
    ("settle stopped", settle(AttemptOutcome.STOPPED), SOON,
     "stale      failed     failed     stale      canceled   stale      stale      stale"),
    ("settle released", settle(AttemptOutcome.RELEASED), SOON,
     "stale      retrying   failed     stale      canceled   stale      stale      stale"),
    ("lose", lose(), SOON,
     "stale      retrying   failed     stale      canceled   stale      stale      stale"),
    ("cancel", Cancel(), SOON,
     "canceled   canceled   canceling  canceled   same       same       same       same"),
    ("upstream ended, not waited for", UpstreamEnded(run_id(9), has_succeeded=False), SOON,
     "same       same       same       same       same       same       same       same"),
    ("ask", Ask(InteractionId("i1"), True, "approval"), SOON,
     "illegal    noted      noted      illegal    noted      illegal    illegal    illegal"),
    ("close what is not open", CloseInteraction(InteractionId("i1"), "answered"), SOON,
     "same       same       same       same       same       same       same       same"),
    ("continue", Continue({"request": {"method": "ping"}}), SOON,
     "noted      noted      noted      noted      illegal    illegal    illegal    illegal"),
    ("tick, nothing due", Tick(), SOON,
     "same       same       same       same       same       same       same       same"),
    ("tick, a limit due", Tick(), LATE,
     "failed     failed     failed     failed     failed     same       same       same"),
    ("note dependent", NoteDependent(), SOON,
     "noted      noted      noted      noted      noted      noted      noted      noted"),
    ("note descendant", NoteDescendant(1, Budget()), SOON,
     "noted      noted      noted      noted      noted      noted      noted      noted"),
    ("note child", NoteChild(1, run_id(9), "tool_subrun"), SOON,
     "stale      noted      noted      stale      noted      stale      stale      stale"),
]  # fmt: skip
REFUSALS = {"stale": StaleFenceError, "illegal": IllegalTransitionError}
CELLS = [
    pytest.param(command, now, status, word, id=f"{name} / {status}")
    for name, command, now, words in TABLE
    for status, word in zip(Status, words.split(), strict=True)
]
LIMITED = policy(attempt=10 * MINUTE, queue=10 * MINUTE, cancel_grace=5 * SECOND)


def test_the_table_knows_every_command_and_status() -> None:
    assert {type(command) for _, command, _, _ in TABLE} == set(get_args(Command))
    assert HEADING.split() == list(Status)


@pytest.mark.parametrize(("command", "now", "status", "word"), CELLS)
def test_cell(command: Command, now: int, status: Status, word: str) -> None:
    run = in_status(status, policy=LIMITED, deadline_at=NOON + 20 * MINUTE)
    if word in REFUSALS:
        with pytest.raises(REFUSALS[word]):
            decide(run, command, now=now)
        return
    decision = decide(run, command, now=now)
    assert decision == decide(run, command, now=now)
    assert decision.run.status == (status if word in ("noted", "same") else word)
    has_changed = decision.run != run or bool(decision.events)
    assert has_changed == (word != "same")
    assert {event.type for event in decision.events} <= EVENT_TYPES


def test_what_is_no_command_is_a_fault_of_the_program() -> None:
    unknown: Any = object()
    with pytest.raises(AssertionError):
        decide(in_status(Status.QUEUED), unknown, now=NOON)
