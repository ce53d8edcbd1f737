"""Runs that wait for others and start others, with an outbox that is paid late, twice and in any order.

Nothing starts before its time whatever the order is; and once the outbox is empty everybody knows what they must.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ringback.domain.decide import create, decide
from ringback.domain.errors import CancelRequestedError, IllegalTransitionError, StaleFenceError
from ringback.domain.ids import RunId
from ringback.domain.runs import (
    AttemptOutcome,
    Cancel,
    Claim,
    Command,
    Decision,
    Lose,
    NoteChild,
    NoteDependent,
    Run,
    Start,
    UpstreamEnded,
)
from ringback.domain.states import TERMINAL, FailureKind, Status
from ringback.engine.outbox import FOLLOWS_CANCEL
from tests.builders import NOON, claim, policy, queued, settle
from tests.properties.laws import check_run, check_step

RUNS_MAX = 8
REFUSED = (StaleFenceError, CancelRequestedError, IllegalTransitionError)
RELATIONS = st.sampled_from(["tool_subrun", "delegation", "mcp_session", "handoff", "follow_up"])
ANY = st.integers(0, 10**6)  # an index, modulo however many there are
ENDS = st.sampled_from([AttemptOutcome.SUCCEEDED, AttemptOutcome.SUCCEEDED, AttemptOutcome.FAILED])


@dataclass
class Member:
    """One run of the world, and how it hangs together with others."""

    run: Run
    depends_on: tuple[RunId, ...] = ()
    children: dict[RunId, str] = field(default_factory=dict)  # with the type of the link


class ManyRuns(RuleBasedStateMachine):
    """A world of runs whose only ties are commands and outbox entries."""

    def __init__(self) -> None:
        super().__init__()
        self.world: dict[RunId, Member] = {}
        self.outbox: list[tuple[str, RunId]] = []
        self.claims = 0
        self.asked: set[RunId] = set()  # whom somebody stopped by name

    # --- as a store and its engine would do it ---

    def save(self, decision: Decision) -> None:
        run_id = decision.run.run_id
        self.world[run_id].run = decision.run
        self.outbox += [(topic, run_id) for topic in decision.outbox]

    def obey(self, target: RunId, command: Command) -> bool:
        before = self.world[target].run
        try:
            decision = decide(before, command, now=NOON)
        except REFUSED:
            return False
        check_step(before, command, decision)
        if isinstance(command, Claim):
            self.check_may_start(target)
        self.save(decision)
        return True

    def add(self, depends_on: tuple[RunId, ...], *, runs_always: bool) -> RunId:
        number = len(self.world) + 1
        statuses = {each: self.world[each].run.status for each in depends_on}
        run = queued(
            number, waiting_on=depends_on, runs_always=runs_always, ready_at=None, policy=policy(attempts=2, delay=0)
        )
        decision = create(run, statuses, now=NOON)
        self.world[run.run_id] = Member(run, depends_on)
        self.save(decision)
        for each in decision.run.waiting_on:
            self.obey(each, NoteDependent())
        return run.run_id

    def pay(self, topic: str, payer: RunId) -> None:
        member = self.world[payer]
        if topic == "dependents":
            news = UpstreamEnded(payer, member.run.status is Status.SUCCEEDED)
            for other in [each for each, waiting in self.world.items() if payer in waiting.depends_on]:
                self.obey(other, news)
        elif topic == "children":
            for child, relation in member.children.items():
                if relation in FOLLOWS_CANCEL:
                    self.obey(child, Cancel(by=f"run:{payer}"))

    # --- what happens ---

    @initialize(shape=st.lists(st.tuples(st.lists(ANY, max_size=2), st.booleans()), min_size=2, max_size=4))
    def begins(self, shape: list[tuple[list[int], bool]]) -> None:
        for others, runs_always in shape:
            self.another(others, runs_always)

    @precondition(lambda self: len(self.world) < RUNS_MAX)
    @rule(others=st.lists(ANY, max_size=3), runs_always=st.sampled_from([False, False, True]))
    def another(self, others: list[int], runs_always: bool) -> None:
        present = list(self.world)
        depends_on = tuple(present[each % len(present)] for each in others if present)
        self.add(depends_on, runs_always=runs_always)

    @rule(which=ANY, is_started=st.sampled_from([True, True, True, False]))
    def claimed(self, which: int, is_started: bool) -> None:
        ready = [each for each, member in self.world.items() if member.run.ready_at is not None]
        if not ready:
            return
        target = ready[which % len(ready)]
        self.claims += 1
        assert self.obey(target, claim(self.claims))
        if is_started:
            assert self.obey(target, Start(self.world[target].run.fence))

    def held(self, which: int) -> Run | None:
        held = [member.run for member in self.world.values() if member.run.is_held]
        return held[which % len(held)] if held else None

    @rule(which=ANY, outcome=ENDS)
    def settled(self, which: int, outcome: AttemptOutcome) -> None:
        run = self.held(which)
        if run is not None:
            self.obey(run.run_id, settle(outcome, fence=run.fence))

    @rule(which=ANY)
    def lost(self, which: int) -> None:
        run = self.held(which)
        if run is not None:
            assert self.obey(run.run_id, Lose(run.fence, "its lease expired", 0.0))

    @precondition(lambda self: len(self.world) < RUNS_MAX)
    @rule(which=ANY, relation=RELATIONS)
    def had_a_child(self, which: int, relation: str) -> None:
        run = self.held(which)
        if run is not None:
            self.give_child(run, relation)

    def give_child(self, run: Run, relation: str) -> None:
        child = self.add((), runs_always=False)
        self.world[run.run_id].children[child] = relation
        assert self.obey(run.run_id, NoteChild(run.fence, child, relation))

    @rule(which=ANY, is_running=st.booleans(), is_crossed=st.booleans(), relation=RELATIONS)
    def stopped(self, which: int, is_running: bool, is_crossed: bool, relation: str) -> None:
        """A run is stopped; before its attempt hears of it, it may start another child."""
        if is_running and self.held(which) is None:
            self.claimed(which, is_started=True)
        held = self.held(which)
        targets = list(self.world)
        target = held.run_id if is_running and held is not None else targets[which % len(targets)]
        self.asked.add(target)
        assert self.obey(target, Cancel(by="u1"))
        if is_crossed and self.world[target].run.is_held and len(self.world) < RUNS_MAX:
            self.give_child(self.world[target].run, relation)

    @rule(which=ANY, is_over=st.sampled_from([True, True, False]))
    def paid(self, which: int, is_over: bool) -> None:
        """One entry is paid, whichever; a process that dies right after it pays it again later."""
        if self.outbox:
            at = which % len(self.outbox)
            entry = self.outbox.pop(at)
            self.pay(*entry)
            if not is_over:
                self.outbox.append(entry)

    # --- laws ---

    def is_satisfied(self, member: Member, upstream: RunId) -> bool:
        status = self.world[upstream].run.status
        return status is Status.SUCCEEDED or (member.run.runs_always and status in TERMINAL)

    def check_may_start(self, target: RunId) -> None:
        member = self.world[target]
        assert all(self.is_satisfied(member, each) for each in member.depends_on)

    @invariant()
    def runs_are_lawful(self) -> None:
        for member in self.world.values():
            check_run(member.run, NOON)
            if member.run.status is Status.QUEUED:
                settled = set(member.depends_on) - set(member.run.waiting_on)
                assert all(self.is_satisfied(member, each) for each in settled), "nobody is struck off too early"

    @invariant()
    def nobody_who_waits_is_unknown_upstream(self) -> None:
        for member in self.world.values():
            for each in member.run.waiting_on:
                assert self.world[each].run.dependents > 0

    def teardown(self) -> None:
        """However the outbox was paid so far: when it is empty, news has reached everybody."""
        for _ in range(1_000):
            if not self.outbox:
                break
            self.pay(*self.outbox.pop())
        assert not self.outbox
        self.check_stopped_by_kinship()
        for member in self.world.values():
            self.check_informed(member)

    def check_informed(self, member: Member) -> None:
        run = member.run
        upstream = {each: self.world[each].run.status for each in member.depends_on}
        if not run.is_terminal:
            assert set(run.waiting_on) == {each for each, status in upstream.items() if status not in TERMINAL}
            assert (run.ready_at is not None) == (run.status in (Status.QUEUED, Status.RETRYING) and not run.waiting_on)
        spoilers = [each for each, status in upstream.items() if status in (Status.FAILED, Status.CANCELED)]
        if spoilers and not run.runs_always:
            assert run.fence == 0, "it never had an attempt"
            assert run.status is Status.CANCELED or run.failure_kind is FailureKind.DEPENDENCY_FAILED
        if run.failure_kind is FailureKind.DEPENDENCY_FAILED:
            assert run.error is not None
            assert any(each in run.error for each in spoilers), "the error names who spoiled it"
        if run.cancellation is not None:
            for child in self.followers(member):
                assert self.world[child].run.is_terminal or self.world[child].run.cancellation is not None

    def followers(self, member: Member) -> list[RunId]:
        return [child for child, relation in member.children.items() if relation in FOLLOWS_CANCEL]

    def check_stopped_by_kinship(self) -> None:
        """A tree is stopped as the types of its links say: whoever was stopped was asked for, or follows such a run."""
        reached, front = set(self.asked), list(self.asked)
        while front:
            below = [child for child in self.followers(self.world[front.pop()]) if child not in reached]
            reached.update(below)
            front += below
        assert {each for each, member in self.world.items() if member.run.cancellation is not None} <= reached


TestManyRuns = ManyRuns.TestCase
TestManyRuns.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
