"""Copies of frozen records: quick, complete, and as strict about names as the slow way."""

from __future__ import annotations

import dataclasses
from types import ModuleType

import pytest

from ringback.domain import admission, events, idempotency, policy, replay, runs, sessions
from ringback.domain.records import made, replace
from ringback.domain.states import HELD, TERMINAL, Status
from tests.builders import in_status, running


def test_a_copy_is_what_the_slow_way_makes() -> None:
    run = running()
    copy = replace(run, fence=7, error="x")
    assert copy == dataclasses.replace(run, fence=7, error="x")
    assert (run.fence, run.error) == (1, None)
    assert replace(run) == run


def test_a_name_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="Run has no field fences"):
        replace(running(), fences=7)


def test_a_record_is_made_from_its_fields() -> None:
    run = running()
    fields = {field.name: getattr(run, field.name) for field in dataclasses.fields(run)}
    assert made(type(run), fields) == run


@pytest.mark.parametrize(
    "module", [admission, events, idempotency, policy, replay, runs, sessions], ids=lambda m: m.__name__
)
def test_records_are_values(module: ModuleType) -> None:
    kinds = [each for each in vars(module).values() if isinstance(each, type) and dataclasses.is_dataclass(each)]
    assert kinds
    for kind in kinds:
        assert vars(kind)["__dataclass_params__"].frozen, kind


@pytest.mark.parametrize("status", Status)
def test_what_a_run_says_of_its_status(status: Status) -> None:
    run = in_status(status)
    assert (run.is_terminal, run.is_held) == (status in TERMINAL, status in HELD)
    assert run.is_held == (run.attempt is not None)
