"""One run under any sequence of commands at any times: the laws hold, and its events tell all of it."""

from __future__ import annotations

from typing import Any

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ringback.domain.decide import create, decide
from ringback.domain.errors import CancelRequestedError, IllegalTransitionError, StaleFenceError
from ringback.domain.events import StoredEvent
from ringback.domain.ids import InteractionId, RunId
from ringback.domain.moments import HOUR, MINUTE, SECOND, Micros, Moment
from ringback.domain.policy import Policy
from ringback.domain.records import replace
from ringback.domain.replay import canonical, digest_of, project, projection_of
from ringback.domain.runs import (
    Append,
    Ask,
    AttemptOutcome,
    Cancel,
    CloseInteraction,
    Command,
    Continue,
    Decision,
    EndedAttempt,
    Lose,
    NewEvent,
    NoteChild,
    NoteDependent,
    Start,
    Tick,
    UpstreamEnded,
)
from ringback.domain.standing import standing_of
from ringback.domain.states import WAITING, FailureKind, Status, TimeLimit
from tests.builders import FakeClock, claim, policy, queued, run_id, settle, stored
from tests.properties.laws import check_run, check_step

INPUT = {"mode": "tool", "arguments": {"n": 1}}
LENGTHS = st.sampled_from([0, 1, SECOND, 10 * SECOND, MINUTE])
MAYBE_LENGTHS = st.sampled_from([None, None, None, None, 0, 1, SECOND, MINUTE, HOUR])
UPSTREAM = (run_id(11), run_id(12))
UPSTREAMS: st.SearchStrategy[dict[RunId, Status]] = st.one_of(
    *[st.just(dict[RunId, Status]())] * 3, st.fixed_dictionaries({each: st.sampled_from(Status) for each in UPSTREAM})
)
GONE = {AttemptOutcome.LOST, AttemptOutcome.RELEASED}
WORKERS_KINDS = st.none() | st.sampled_from([FailureKind.TOOL_ERROR, FailureKind.INTERNAL, FailureKind.INVALID_PARAMS])
WORKERS_LIMITS = st.none() | st.sampled_from([TimeLimit.ATTEMPT, TimeLimit.IDLE, TimeLimit.DEADLINE])
DRAWS = st.floats(0, 1, exclude_max=True)
TEXTS = st.none() | st.sampled_from(["", "x", "größe"])
OFTEN = st.sampled_from([True, True, True, False])
RARELY = st.sampled_from([False, False, True])
FENCES = st.sampled_from([0, 0, 0, 0, -1, 1])  # off the current one
INTERACTIONS = st.sampled_from([InteractionId(each) for each in ("i1", "i2", "i3")])
ANY_TIME = st.one_of(
    st.builds(UpstreamEnded, st.sampled_from(UPSTREAM), st.booleans()),
    st.builds(Ask, INTERACTIONS, st.booleans(), st.just("approval")),
    st.builds(Continue, st.just({"request": {"method": "ping"}})),
    st.builds(CloseInteraction, INTERACTIONS, st.sampled_from(["answered", "rejected", "expired", "withdrawn"])),
    st.builds(NoteDependent),
    st.builds(Tick),
)
OUTPUT = st.lists(
    st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=4) | st.integers(1, 9)), max_size=3
)
OUTCOMES = st.sampled_from([each for each in AttemptOutcome if each is not AttemptOutcome.LOST])
SETTLED = st.fixed_dictionaries(
    {
        "draw": DRAWS,
        "result": st.sampled_from([{}, {"exitCode": 1}]),
        "summary": TEXTS,
        "error": TEXTS,
        "error_kind": WORKERS_KINDS,
        "time_limit": WORKERS_LIMITS,
        "was_forced": st.booleans(),
        "is_retryable": st.sampled_from([True, True, False]),
        "is_parked": st.booleans(),
    }
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    return policy(
        attempts=draw(st.integers(1, 4) | st.just(12)),
        delay=draw(LENGTHS),
        jitter=draw(MAYBE_LENGTHS),
        attempt=draw(MAYBE_LENGTHS),
        queue=draw(MAYBE_LENGTHS),
        cancel_grace=draw(LENGTHS),
        is_idempotent=draw(st.booleans()),
        retry_on_lost=draw(st.booleans()),
    )


BIRTHS = st.fixed_dictionaries(
    {
        "policy": policies(),
        "deadline": MAYBE_LENGTHS,
        "not_before": MAYBE_LENGTHS,
        "upstream": UPSTREAMS,
        "runs_always": st.booleans(),
    }
)


TOLD = (
    *("status", "attempts_done", "next_reason", "started_at", "ended_at", "failure_kind", "end_reason", "time_limit"),
    *("error", "summary", "progress", "result_sequence", "cancellation", "blocking", "open_interactions"),
)


class OneRun(RuleBasedStateMachine):
    """Keeps of the run what a store would keep, and beside it what the laws about its past need."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.run = queued(ready_at=None, event_sequence=0)
        self.events: list[StoredEvent] = []
        self.attempts: list[EndedAttempt] = []
        self.links: list[tuple[str, RunId]] = []
        self.begun: list[int] = []
        self.claims = 0

    @initialize(facts=BIRTHS)
    def is_born(self, facts: dict[str, Any]) -> None:
        deadline, not_before = facts["deadline"], facts["not_before"]
        now = self.clock.now()
        born = queued(
            ready_at=None,
            event_sequence=0,
            created_at=now,
            policy=facts["policy"],
            deadline_at=None if deadline is None else now + deadline,
            not_before=None if not_before is None else now + not_before,
            waiting_on=tuple(facts["upstream"]),
            runs_always=facts["runs_always"],
        )
        self.keep(create(born, facts["upstream"], now=now))

    def keep(self, decision: Decision) -> None:
        self.events += stored(decision.events, after=len(self.events), now=self.clock.now())
        self.run = replace(decision.run, event_sequence=len(self.events), version=self.run.version + 1)
        if decision.ended is not None:
            self.attempts.append(decision.ended)
        for event in decision.events:
            if event.type == "link.created":
                self.links.append((event.body["relationType"], event.body["toRunId"]))

    def obey(self, command: Command) -> bool:
        """Decide `command`, check the step, keep it; whether it was accepted."""
        before, now = self.run, self.clock.now()
        untouched = replace(before)
        try:
            decision = decide(before, command, now=now)
        except (StaleFenceError, CancelRequestedError, IllegalTransitionError):
            assert self.run == untouched, "a refused command changes nothing"
            return False
        assert decision == decide(before, command, now=now), "the same arguments, the same decision"
        check_step(before, command, decision)
        if any(event.type == "attempt.started" for event in decision.events):
            self.check_may_begin(decision)
        self.keep(decision)
        return True

    def check_may_begin(self, decision: Decision) -> None:
        run = decision.run
        assert run.cancellation is None, "no attempt starts after an accepted stop"
        assert run.fence > max(self.begun, default=0)
        self.begun.append(run.fence)
        gone = [each for each in self.attempts if each.outcome in GONE and each.attempt.started_at is not None]
        if len(gone) > run.attempts_parked:
            assert run.policy.may_repeat_after_loss, "work that may have begun is not begun again"
        most = run.policy.retry.attempts_max
        if run.policy.may_repeat_after_loss:
            most = max(most, run.policy.attempts_after_loss_max)
        assert len(self.begun) <= most + run.attempts_parked

    def fence(self, off: int) -> int:
        return self.run.fence + off

    # --- commands ---

    @rule(by=LENGTHS)
    def time_passes(self, by: Micros) -> None:
        self.clock.advance(by)

    def it_is_time(self) -> None:
        due: Moment = self.run.timer_at or 0
        self.clock.advance(max(0, due - self.clock.now()))

    def claimed(self) -> None:
        self.claims += 1
        run, now = self.run, self.clock.now()
        accepted = self.obey(claim(self.claims))
        assert accepted == (run.ready_at is not None and run.ready_at <= now)

    @rule(off=FENCES, is_claimed=st.booleans())
    def started(self, off: int, is_claimed: bool) -> None:
        if is_claimed:
            self.claimed()
        self.obey(Start(self.fence(off)))

    @rule(is_started=OFTEN, next_run=BIRTHS)
    def goes_on(self, is_started: bool, next_run: dict[str, Any]) -> None:
        """The next attempt begins, as soon as it can, and after the end the next run: else few sequences got that far."""
        if self.run.is_terminal:
            self.events, self.attempts, self.links, self.begun = [], [], [], []
            self.is_born(next_run)
        for upstream in self.run.waiting_on:
            self.obey(UpstreamEnded(upstream, has_succeeded=True))
        if self.run.ready_at is None and self.run.status in WAITING:
            self.ticked(is_ticked=True)
        if self.run.ready_at is not None:
            self.claimed()
        if self.run.status is Status.SUBMITTED and is_started:
            self.started(0, is_claimed=False)

    @rule(off=FENCES, output=OUTPUT, done=st.none() | st.integers(0, 2), number=st.none() | st.integers(1, 4))
    def appended(self, off: int, output: list[tuple[str, bytes | int]], done: int | None, number: int | None) -> None:
        is_repeated = number is not None and self.run.attempt is not None and number <= self.run.attempt.heard
        before = len(self.events)
        progress = None if done is None else {"done": done}
        self.obey(Append(self.fence(off), tuple(_output(*each) for each in output), progress, number=number))
        assert not (is_repeated and len(self.events) > before), "a report that comes twice is heard once"

    @rule(off=FENCES, delivered=st.booleans(), acknowledged=st.booleans())
    def evidence_came(self, off: int, delivered: bool, acknowledged: bool) -> None:
        self.obey(Append(self.fence(off), (), None, delivered, acknowledged))

    @rule(off=FENCES, outcome=OUTCOMES, facts=SETTLED)
    def settled(self, off: int, outcome: AttemptOutcome, facts: dict[str, Any]) -> None:
        has_begun = self.run.status in (Status.RUNNING, Status.CANCELING)
        accepted = self.obey(settle(outcome, fence=self.fence(off), **facts))
        assert accepted or off or not has_begun, "however it ended, its bearer is heard"

    @rule(facts=SETTLED, next_run=BIRTHS)
    def failed_and_went_on(self, facts: dict[str, Any], next_run: dict[str, Any]) -> None:
        self.obey(settle(AttemptOutcome.FAILED, fence=self.run.fence, **facts))
        self.goes_on(is_started=True, next_run=next_run)

    @rule(off=FENCES, draw=DRAWS)
    def lost(self, off: int, draw: float) -> None:
        is_held = self.run.is_held
        assert self.obey(Lose(self.fence(off), "its lease expired", draw)) == (is_held and not off)

    @rule(by=TEXTS, is_meant=RARELY, acknowledged=st.booleans())
    def stopped(self, by: str | None, is_meant: bool, acknowledged: bool) -> None:
        if not is_meant:  # it ends most runs, so it must not come too often
            return
        status = self.run.status
        assert self.obey(Cancel(by, None))
        may_go_on = status in (Status.RUNNING, Status.CANCELING)
        assert self.run.is_terminal or (may_go_on and self.run.status is Status.CANCELING)
        if acknowledged:
            self.obey(Append(self.run.fence, (), cancel_acknowledged=True))

    @rule(facts=SETTLED, outcome=OUTCOMES)
    def stopped_while_it_ends(self, facts: dict[str, Any], outcome: AttemptOutcome) -> None:
        if self.run.status is Status.RUNNING:
            self.stopped(None, is_meant=True, acknowledged=False)
            self.settled(0, outcome, facts)

    @rule(is_ticked=OFTEN)
    def ticked(self, is_ticked: bool) -> None:
        self.it_is_time()
        if is_ticked:
            assert self.obey(Tick())
            assert self.run.timer_at is None or self.run.timer_at > self.clock.now(), "what was due was done"

    @rule(command=ANY_TIME)
    def others_spoke(self, command: Command) -> None:
        accepted = self.obey(command)
        assert accepted or isinstance(command, Ask | Continue)
        if isinstance(command, UpstreamEnded):
            assert command.upstream_id not in self.run.waiting_on

    @rule(off=FENCES, number=st.integers(20, 22))
    def got_a_child(self, off: int, number: int) -> None:
        self.obey(NoteChild(self.fence(off), run_id(number), "tool_subrun"))

    # --- laws ---

    @invariant()
    def the_run_is_lawful(self) -> None:
        if self.events:
            check_run(self.run, self.clock.now())

    @invariant()
    def attempts_are_counted_once(self) -> None:
        numbers = [each.attempt.attempt_no for each in self.attempts]
        assert numbers == list(range(1, self.run.attempts_done + 1))
        fences = [each.attempt.fence for each in self.attempts]
        assert fences == sorted(set(fences))

    @invariant()
    def events_tell_all(self) -> None:
        if not self.events:
            return
        at = self.run.result_sequence
        recorded = projection_of(
            self.run,
            INPUT,
            self.attempts,
            result=None if at is None else self.events[at - 1].body,
            output={stream: self.digest(stream) for stream in ("stdout", "stderr")},
            links=self.links,
        )
        assert canonical(project(INPUT, self.events)) == canonical(recorded)
        assert at is None or self.events[at - 1].type == "tool_result"

    @invariant()
    def events_tell_the_row(self) -> None:
        """All that `ringback db rebuild` makes again; moments included."""
        if not self.events:
            return
        told, run = standing_of(self.events), self.run
        for name in TOLD:
            assert getattr(told, name) == getattr(run, name), name
        assert len(told.children) == run.children
        assert [(each.outcome, each.error, each.ended_at) for each in told.attempts if each.ended_at is not None] == [
            (each.outcome, each.error, each.ended_at) for each in self.attempts
        ]
        assert [
            (each.attempt_id, each.attempt_no, each.reason, each.claimed_at, each.started_at) for each in told.attempts
        ] == [
            (each.attempt_id, each.attempt_no, each.reason, each.claimed_at, each.started_at)
            for each in [*(ended.attempt for ended in self.attempts), *((run.attempt,) if run.attempt else ())]
        ]

    def digest(self, stream: str) -> Any:
        mine = [event for event in self.events if event.body.get("stream") == stream]
        return digest_of(
            [event.data for event in mine if event.data is not None],
            dropped_bytes=sum(event.body.get("bytes", 0) for event in mine),
        )


def _output(stream: str, what: bytes | int) -> NewEvent:
    if isinstance(what, int):
        return NewEvent("output.dropped", {"stream": stream, "offset": 0, "bytes": what})
    return NewEvent("output.chunk", {"stream": stream, "offset": 0}, what)


TestOneRun = OneRun.TestCase
TestOneRun.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
