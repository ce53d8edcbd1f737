"""The arcs, and the laws of the surfaces: one state has one word on each, and no word is ever taken back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from ringback.domain.states import (
    ACTIVE,
    HELD,
    MACHINERY_FAILURES,
    TERMINAL,
    TRANSITIONS,
    WAITING,
    FailureKind,
    Status,
    a2a_word,
    async_run_word,
    job_word,
    task_word,
)

S = Status
ARCS = {
    S.QUEUED: {S.SUBMITTED, S.CANCELED, S.FAILED},
    S.SUBMITTED: {S.RUNNING, S.RETRYING, S.CANCELING, S.FAILED},
    S.RUNNING: {S.SUCCEEDED, S.FAILED, S.RETRYING, S.CANCELING},
    S.RETRYING: {S.SUBMITTED, S.CANCELED, S.FAILED},
    S.CANCELING: {S.CANCELED, S.SUCCEEDED, S.FAILED},
    S.SUCCEEDED: set(),
    S.FAILED: set(),
    S.CANCELED: set(),
}
VOCABULARY = {
    "async run": ("queued", "pending", "running", "succeeded", "failed", "cancelled"),
    "job": ("queued", "running", "done", "failed", "cancelled"),
    "task": ("working", "input_required", "completed", "failed", "cancelled"),
    "a2a": (
        *("SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"),
        *("COMPLETED", "FAILED", "CANCELED"),
    ),
}
OVER = {
    "async run": {"succeeded", "failed", "cancelled"},
    "job": {"done", "failed", "cancelled"},
    "task": {"completed", "failed", "cancelled"},
    "a2a": {"COMPLETED", "FAILED", "CANCELED"},
}
WORK, MACHINE = FailureKind.TOOL_ERROR, FailureKind.LOST


@pytest.mark.parametrize("status", S)
def test_arcs(status: Status) -> None:
    assert set(TRANSITIONS[status]) == ARCS[status]
    assert all(TRANSITIONS[status].values()), "every arc says why it exists"


def test_groups_of_statuses() -> None:
    assert {S.SUCCEEDED, S.FAILED, S.CANCELED} == TERMINAL
    assert {S.SUBMITTED, S.RUNNING, S.CANCELING} == HELD
    assert {S.QUEUED, S.RETRYING} == WAITING
    assert HELD | WAITING == ACTIVE == set(S) - TERMINAL


@pytest.mark.parametrize(
    ("status", "attempt_no", "failure", "async_run", "job", "task", "a2a"),
    [
        (S.QUEUED, 0, None, "queued", "queued", "working", "SUBMITTED"),
        (S.SUBMITTED, 1, None, "pending", "queued", "working", "SUBMITTED"),
        (S.SUBMITTED, 2, None, "running", "running", "working", "WORKING"),
        (S.RUNNING, 1, None, "running", "running", "working", "WORKING"),
        (S.RETRYING, 1, None, "running", "running", "working", "WORKING"),
        (S.CANCELING, 1, None, "running", "running", "working", "WORKING"),
        (S.SUCCEEDED, 1, None, "succeeded", "done", "completed", "COMPLETED"),
        (S.FAILED, 1, WORK, "failed", "failed", "completed", "FAILED"),
        (S.FAILED, 1, MACHINE, "failed", "failed", "failed", "FAILED"),
        (S.CANCELED, 0, None, "cancelled", "cancelled", "cancelled", "CANCELED"),
        (S.CANCELED, 1, None, "cancelled", "cancelled", "cancelled", "CANCELED"),
    ],
)
def test_words(
    status: Status, attempt_no: int, failure: FailureKind | None, async_run: str, job: str, task: str, a2a: str
) -> None:
    assert async_run_word(status, attempt_no) == async_run
    assert job_word(status, attempt_no) == job
    assert task_word(status, failure, is_blocked=False) == task
    assert a2a_word(status, attempt_no, blocked_by=None) == a2a


def test_the_machinery_failed_or_the_work_did() -> None:
    machinery = {FailureKind.INTERNAL, FailureKind.LOST, FailureKind.INVALID_PARAMS}
    assert machinery == MACHINERY_FAILURES
    for kind in FailureKind:
        assert task_word(S.FAILED, kind, is_blocked=False) == ("failed" if kind in machinery else "completed")


@pytest.mark.parametrize("status", S)
@pytest.mark.parametrize(("kind", "word"), [("auth", "AUTH_REQUIRED"), ("approval", "INPUT_REQUIRED")])
def test_a_wait_for_somebody_shows_only_while_active(status: Status, kind: str, word: str) -> None:
    is_over = status in TERMINAL
    assert (task_word(status, None, is_blocked=True) == "input_required") == (not is_over)
    assert (a2a_word(status, 1, blocked_by=kind) == word) == (not is_over)


def _words(status: Status, attempt_no: int, failure: FailureKind | None, blocked_by: str | None) -> dict[str, str]:
    return {
        "async run": async_run_word(status, attempt_no),
        "job": job_word(status, attempt_no),
        "task": task_word(status, failure, is_blocked=blocked_by is not None),
        "a2a": a2a_word(status, attempt_no, blocked_by=blocked_by),
    }


def test_terminal_on_one_surface_is_terminal_on_all() -> None:
    for state in product(S, range(4), [None, *FailureKind], [None, "auth", "input"]):
        words = _words(*state)
        assert all(words[surface] in VOCABULARY[surface] for surface in words)
        assert {words[surface] in OVER[surface] for surface in words} == {state[0] in TERMINAL}


def _steps() -> Iterator[tuple[tuple[Status, int], tuple[Status, int]]]:
    """Every step of every path with up to three attempts: status and attempt number, before and after."""
    seen = {(S.QUEUED, 0)}
    to_see = list(seen)
    while to_see:
        status, attempt_no = to_see.pop()
        for after in TRANSITIONS[status]:
            step = (after, attempt_no + (after is S.SUBMITTED))
            yield (status, attempt_no), step
            if step not in seen and step[1] <= 3:
                seen.add(step)
                to_see.append(step)


def test_words_never_go_back() -> None:
    ranks = {
        "async run": {"queued": 0, "pending": 1, "running": 2},
        "job": {"queued": 0, "running": 1},
    }
    for (status, number), (status_after, number_after) in _steps():
        before = _words(status, number, None, None)
        after = _words(status_after, number_after, None, None)
        for surface, rank in ranks.items():
            assert rank[before[surface]] <= rank.get(after[surface], 9), (status, status_after)


def test_every_active_status_can_end_and_none_returns_from_canceling() -> None:
    reach: dict[Status, set[Status]] = {status: set() for status in S}
    for _ in S:
        for status in S:
            reach[status] = {*TRANSITIONS[status], *(far for near in TRANSITIONS[status] for far in reach[near])}
    assert all((reach[status] >= {S.FAILED}) == (status in ACTIVE) for status in S)
    assert reach[S.CANCELING] == TERMINAL
