"""Questions of one run, through the services and a real ledger, under any interleaving: the overlay's invariants hold.

Asks, answers, expiries, withdrawals, stops, ends, losses and slots that are given back come in any order at any times.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ringback.domain.errors import (
    AlreadyAnsweredError,
    CancelRequestedError,
    IllegalTransitionError,
    NotARespondentError,
    StaleFenceError,
)
from ringback.domain.ids import RunId
from ringback.domain.moments import SECOND
from ringback.domain.roles import Role
from ringback.domain.runs import AttemptOutcome, AttemptReason, Lose, Run
from ringback.domain.sessions import Session
from ringback.domain.states import HELD, Status
from ringback.engine.apply import apply
from ringback.services.access import Respondent
from ringback.services.questions import Answer, Interaction
from tests.installed import PROJECT, Installed, installed, tool

KEYS = st.sampled_from(["a", "b", "c"])
ROLES = st.sampled_from([Role.VIEWER, Role.RUNNER, Role.OWNER, Role.OWNER])
NTH = st.integers(0, 5)
OFTEN = st.sampled_from([True, True, True, False])
CLOSED = frozenset(("answered", "rejected", "expired", "withdrawn"))
POLICY = {"idempotent": True, "retry": {"attemptsMax": 30, "delayS": 1}}


class Overlay(RuleBasedStateMachine):
    """Keeps what has been said of each question; the ledger must agree."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.opening = installed(Path(self.folder.name))
        self.here: Installed = self.run(self.opening.__aenter__())
        self.said: dict[str, tuple[str, Any]] = {}
        self.accepted: dict[str, int] = {}
        self.claim: dict[str, Any] | None = None

    def run(self, work: Any) -> Any:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.opening.__aexit__(None, None, None))
        self.runner.close()
        self.folder.cleanup()

    @initialize()
    def starts(self) -> None:
        self.run(self.here.apply(tool("asking", policy=POLICY)))
        self.a_run_begins()

    def a_run_begins(self) -> None:
        started: Run = self.run(self.here.start("asking"))
        self.run_id: RunId = started.run_id
        self.session: Session = self.run(self.here.attach())
        self.is_claimed()

    def is_claimed(self) -> None:
        claims = self.run(self.here.claim(self.session, 1))
        if claims:
            (self.claim,) = claims
            if not self.claim["started"]:
                self.run(self.here.begin(self.session, self.claim))

    @property
    def ledger(self) -> Run:
        found: Run = self.run(self.here.look(self.run_id))
        return found

    def questions(self) -> list[Interaction]:
        found: list[Interaction] = self.run(self.here.core.interactions.of_run(self.ledger))
        return found

    def nth(self, number: int) -> Interaction | None:
        found = self.questions()
        return found[number % len(found)] if found else None

    # --- what happens

    @rule(by=st.sampled_from([1, SECOND, 5 * SECOND]))
    def time_passes(self, by: int) -> None:
        self.here.clock.advance(by)

    @rule(
        key=KEYS,
        blocking=st.booleans(),
        expires=st.sampled_from([None, 1, 3]),
        on_expiry=st.sampled_from(["fail", "reject"]),
    )
    @precondition(lambda self: self.claim is not None)
    def asks(self, key: str, blocking: bool, expires: int | None, on_expiry: str) -> None:
        assert self.claim is not None
        question: dict[str, Any] = {"kind": "approval", "title": f"{key}?", "key": key, "blocking": blocking}
        question |= {} if expires is None else {"expiresInS": expires, "onExpiry": on_expiry}
        before = self.ledger
        self.here.clock.advance(1)
        try:
            asked: Interaction = self.run(self.here.core.interactions.ask(self.run_id, self.claim["fence"], question))
        except StaleFenceError:
            assert not before.is_held or before.fence != self.claim["fence"]
        except CancelRequestedError:
            assert before.status is Status.CANCELING
        except IllegalTransitionError:
            assert blocking
            assert before.blocking is not None
        else:
            assert asked.question["key"] == key
            if asked.status == "open" and asked.is_blocking:
                assert self.ledger.blocking is not None

    @rule(nth=NTH, word=st.sampled_from(["approve", "reject"]), role=ROLES)
    def somebody_answers(self, nth: int, word: str, role: Role) -> None:
        asked = self.nth(nth)
        if asked is None:
            return
        by = Respondent("ann", role)
        try:
            self.run(self.here.core.interactions.respond(PROJECT, asked.interaction_id, Answer(decision=word), by=by))
        except NotARespondentError:
            assert role is Role.VIEWER
        except AlreadyAnsweredError as refused:
            assert not asked.is_open or self.ledger.is_terminal
            if not asked.is_open:
                assert (refused.status, refused.response) == (asked.status, asked.response), "it is shown what counts"
        else:
            assert asked.is_open
            self.accepted[asked.interaction_id] = self.accepted.get(asked.interaction_id, 0) + 1
            assert self.accepted[asked.interaction_id] == 1, "an answer is single"

    @rule(nth=NTH)
    def somebody_withdraws(self, nth: int) -> None:
        asked = self.nth(nth)
        if asked is None:
            return
        try:
            self.run(self.here.core.interactions.withdraw(PROJECT, asked.interaction_id))
        except AlreadyAnsweredError:
            assert asked.status in CLOSED - {"withdrawn"}

    @rule(key=KEYS)
    @precondition(lambda self: self.claim is not None)
    def takes_back(self, key: str) -> None:
        assert self.claim is not None
        try:
            self.run(self.here.core.interactions.take_back(self.run_id, self.claim["fence"], key))
        except StaleFenceError:
            assert not self.ledger.is_held

    @rule()
    def time_is_over(self) -> None:
        self.run(self.here.core.interactions.expire())

    @rule()
    def the_outbox_is_paid(self) -> None:
        self.run(self.here.core.engine.outbox.pay())

    @rule(
        outcome=st.sampled_from([AttemptOutcome.FAILED, AttemptOutcome.FAILED, AttemptOutcome.SUCCEEDED]),
        is_meant=OFTEN,
    )
    @precondition(lambda self: self.claim is not None)
    def attempt_ends(self, outcome: AttemptOutcome, is_meant: bool) -> None:
        assert self.claim is not None
        if is_meant or outcome is AttemptOutcome.FAILED:
            self.run(self.here.settle(self.session, self.claim, outcome))
        self.claim = None if not self.ledger.is_held else self.claim

    @rule()
    @precondition(lambda self: self.claim is not None)
    def gives_its_slot_back(self) -> None:
        assert self.claim is not None
        before = self.ledger
        told = self.run(self.here.settle(self.session, self.claim, AttemptOutcome.RELEASED, is_parked=True))
        after = self.ledger
        if told == {"ok": True} and before.status is Status.RUNNING:
            assert (after.status, after.next_reason) == (Status.RETRYING, AttemptReason.ANSWER)
            assert after.blocking == before.blocking
            assert after.open_interactions == before.open_interactions
            assert after.attempts_spent == before.attempts_spent
            assert (after.ready_at is not None) == (before.blocking is None)
        self.claim = None

    @rule()
    @precondition(lambda self: self.claim is not None)
    def worker_dies(self) -> None:
        assert self.claim is not None
        try:
            self.run(apply(self.here.core.store, self.run_id, Lose(self.claim["fence"], "its worker died", 0.0)))
        except StaleFenceError:
            assert not self.ledger.is_held
        self.claim = None

    @rule(key=KEYS, nth=NTH, is_answered=OFTEN)
    @precondition(lambda self: self.claim is not None)
    def worker_dies_and_the_next_one_asks(self, key: str, nth: int, is_answered: bool) -> None:
        """Before the outbox is paid: what the dead one asked is still open, and may be answered."""
        self.worker_dies()
        self.next_attempt_begins()
        if self.claim is not None:
            self.asks(key, blocking=False, expires=None, on_expiry="fail")
        if is_answered:
            self.somebody_answers(nth, "approve", Role.OWNER)
        self.the_outbox_is_paid()

    @rule()
    def next_attempt_begins(self) -> None:
        """The next attempt, as soon as it can; after the end the next run: else few sequences got that far."""
        if self.ledger.is_terminal:
            self.claim = None
            self.a_run_begins()
        elif self.ledger.status not in HELD:
            self.here.clock.advance(3600 * SECOND)
            self.run(self.here.core.engine.timers.fire())
            was_parked, self.session = self.ledger.is_parked, self.run(self.here.attach())
            self.is_claimed()
            assert not (was_parked and self.ledger.is_held), "a parked run waits for its answer"

    @rule(is_meant=st.sampled_from([True, False, False, False]))
    def somebody_stops_it(self, is_meant: bool) -> None:
        if is_meant:  # it ends most runs, so it must not come too often
            self.run(self.here.core.runs.cancel(PROJECT, self.run_id, by="ann"))

    # --- the invariants

    @invariant()
    def the_overlay_is_lawful(self) -> None:
        run, asked = self.ledger, {each.interaction_id: each for each in self.questions()}
        open_now = [each for each in asked.values() if each.is_open]
        assert 0 <= run.open_interactions <= len(open_now)
        if run.blocking is not None:
            blocking = asked[run.blocking.interaction_id]
            assert (blocking.is_open, blocking.is_blocking, blocking.run_id) == (True, True, run.run_id)
            assert run.status in (*HELD, Status.RETRYING), "a wait adds no status"
            assert run.open_interactions > 0
        if run.is_terminal:
            assert (run.blocking, run.open_interactions) == (None, 0)

    @invariant()
    def what_is_over_stays_as_it_is(self) -> None:
        for each in self.questions():
            now = (each.status, each.response)
            if each.interaction_id in self.said:
                assert now == self.said[each.interaction_id]
            elif not each.is_open:
                assert each.closed_at is not None
                self.said[each.interaction_id] = now
            if each.status in ("answered", "rejected"):
                assert self.accepted.get(each.interaction_id) == 1

    @invariant()
    def events_tell_of_each_question_once(self) -> None:
        run = self.ledger
        events = self.run(self.here.core.store.reads.events(run.run_id, after=0, limit=10_000, types=()))
        told = [(each.type, each.body["interactionId"]) for each in events if each.type.startswith("interaction.")]
        requested = [name for kind, name in told if kind == "interaction.requested"]
        closed = [name for kind, name in told if kind != "interaction.requested"]
        assert sorted(requested) == sorted(each.interaction_id for each in self.questions())
        assert len(closed) == len(set(closed))

    @invariant()
    def what_is_owed_is_all_that_is_left_open(self) -> None:
        """Once the outbox is paid, the open questions are exactly those that the run counts."""
        run = self.ledger
        if not self.run(self.here.core.store.reads.outbox(limit=10)):
            open_now = [each for each in self.questions() if each.is_open]
            assert run.open_interactions == len(open_now)
            assert sum(each.is_blocking for each in open_now) == (run.blocking is not None)

    @invariant()
    def the_run_is_rebuilt_from_its_events(self) -> None:
        is_identical, _ = self.run(self.here.core.results.replay(self.ledger))
        assert is_identical


TestOverlay = Overlay.TestCase
TestOverlay.settings = settings(
    max_examples=40, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
