"""Admission over time: keys never overfull, no slot left idle, projects served in turn whatever the others queue."""

from __future__ import annotations

from collections import Counter

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ringback.domain.admission import Head, key_of, lane_of, pick
from ringback.domain.ids import ProjectId, RunId
from tests.builders import NOON, head, run_id

PROJECTS = [ProjectId(each) for each in ("p1", "p2", "p3", "p4")]
LIMITS = {"": 1, "deploy": 1, "gpu": 2}  # of each key; the empty one is no key
NEEDS = ["command", "function:add"]
LANE_HEADS = 4  # as many of each lane as a claim looks at


class Picking(RuleBasedStateMachine):
    """Queues and running work of a few projects; every pick is judged choice by choice."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: dict[RunId, Head] = {}
        self.running: dict[RunId, Head] = {}
        self.served: dict[ProjectId, int] = {}
        self.passed_over: Counter[ProjectId] = Counter()
        self.count = 0

    @rule(
        project=st.sampled_from(PROJECTS),
        key=st.sampled_from([*LIMITS, ""]),
        need=st.sampled_from(NEEDS),
        priority=st.sampled_from([0, 0, 0, 5, -5]),
        copies=st.integers(1, 6),
    )
    def queued(self, project: ProjectId, key: str, need: str, priority: int, copies: int) -> None:
        for _ in range(copies):
            self.count += 1
            new = head(
                self.count,
                project,
                lane=lane_of("default", need, key or None),
                priority=priority,
                ready_at=NOON + self.count // 3,
                concurrency_limit=LIMITS[key],
            )
            self.waiting[new.run_id] = new

    @rule(which=st.integers(0, 10**6), copies=st.integers(1, 3))
    def ended(self, which: int, copies: int) -> None:
        for _ in range(min(copies, len(self.running))):
            del self.running[sorted(self.running)[which % len(self.running)]]

    @rule(slots=st.integers(0, 6))
    def picked(self, slots: int) -> None:
        heads = self.heads()
        held = Counter((each.project_id, each.lane) for each in self.running.values())
        chosen = pick(heads, held, self.served, limit=slots)
        assert chosen == pick(reversed(heads), held, dict(self.before), limit=slots), "the order of heads is no matter"
        assert len(chosen) == len(set(chosen)) <= slots
        rest = {each.run_id: each for each in heads}
        for each in chosen:
            self.check_choice(rest.pop(each), rest)
            self.running[each] = self.waiting.pop(each)
        if len(chosen) < slots:
            assert not [each for each in rest.values() if self.is_free(each)], "no slot stays idle"

    def heads(self) -> list[Head]:
        self.before = dict(self.served)
        lanes: dict[tuple[ProjectId, str], list[Head]] = {}
        for each in self.waiting.values():
            lanes.setdefault((each.project_id, each.lane), []).append(each)
        return [each for lane in lanes.values() for each in sorted(lane, key=_turn)[:LANE_HEADS]]

    def is_free(self, wanted: Head) -> bool:
        key = key_of(wanted.lane)
        return not key or self.in_key(wanted.project_id, key) < LIMITS[key]

    def in_key(self, project: ProjectId, key: str) -> int:
        return sum(each.project_id == project and key_of(each.lane) == key for each in self.running.values())

    def held_by(self, project: ProjectId) -> int:
        return sum(each.project_id == project for each in self.running.values())

    def check_choice(self, choice: Head, rest: dict[RunId, Head]) -> None:
        assert self.is_free(choice)
        others = [each for each in rest.values() if self.is_free(each)]
        mine = [each for each in others if each.project_id == choice.project_id]
        assert all(_turn(choice) < _turn(each) for each in mine), "priority, then age"
        for project in {each.project_id for each in others} - {choice.project_id}:
            assert self.held_by(choice.project_id) <= self.held_by(project), "who holds least goes first"
            if self.held_by(project) == 0:
                self.passed_over[project] += 1
                assert self.passed_over[project] < len(PROJECTS), "each project comes in its turn"
        self.passed_over[choice.project_id] = 0

    @invariant()
    def no_key_is_overfull(self) -> None:
        for project in PROJECTS:
            for key, limit in LIMITS.items():
                assert not key or self.in_key(project, key) <= limit


def _turn(each: Head) -> tuple[int, int, RunId]:
    return (-each.priority, each.ready_at, each.run_id)


def test_a_single_run_is_served_within_one_round() -> None:
    """A backlog of thousands, four slots, quick work: another project's first run is next, every time."""
    served: dict[ProjectId, int] = {}
    backlog = [head(number, "p1") for number in range(1, 300)]
    for turn in range(50):
        chosen = pick([*backlog, head(1_000 + turn, "p2")], {(PROJECTS[0], backlog[0].lane): 3}, served, limit=1)
        assert chosen == [run_id(1_000 + turn)]


TestPicking = Picking.TestCase
TestPicking.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
