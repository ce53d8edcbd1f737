"""Copies of frozen records: quick, complete, and as strict about names as the slow way."""

from __future__ import annotations

import dataclasses

import pytest

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


@pytest.mark.parametrize("status", Status)
def test_what_a_run_says_of_its_status(status: Status) -> None:
    run = in_status(status)
    assert (run.is_terminal, run.is_held) == (status in TERMINAL, status in HELD)
    assert run.is_held == (run.attempt is not None)
