"""Ids: one run, two spellings that sort alike, and nothing else is a spelling."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given, strategies as st

from ringback.domain.ids import RunId, job_id_of, run_id_of

RUN = RunId("019b7a00-1234-7abc-8def-0123456789ab")
UUIDS = st.uuids().map(lambda drawn: RunId(str(drawn)))


def test_the_spellings_of_one_run() -> None:
    assert job_id_of(RUN) == "job_01jdt004hkfau8rro14d2mf2db"
    assert run_id_of(RUN) == run_id_of(RUN.upper()) == run_id_of(job_id_of(RUN)) == RUN


def _base32hex(run: RunId) -> str:
    number, digits = uuid.UUID(run).int, ""
    for _ in range(26):
        digits = "0123456789abcdefghijklmnopqrstuv"[number % 32] + digits
        number //= 32
    return digits


@given(UUIDS)
def test_round_trip(run: RunId) -> None:
    assert job_id_of(run) == "job_" + _base32hex(run)
    assert run_id_of(job_id_of(run)) == run
    assert run_id_of(str(run)) == run


@given(UUIDS, UUIDS)
def test_both_spellings_sort_alike(one: RunId, other: RunId) -> None:
    assert (one < other) == (job_id_of(one) < job_id_of(other))


@pytest.mark.parametrize("number", [0, 1, 2**128 - 1])
def test_the_ends_of_the_range(number: int) -> None:
    run = RunId(str(uuid.UUID(int=number)))
    assert run_id_of(job_id_of(run)) == run


@pytest.mark.parametrize(
    "text",
    [
        "",
        "job_",
        "abc",
        "../../etc/passwd",
        RUN[:-1],
        RUN + "0",
        RUN + "\n",
        RUN.replace("-", ""),
        "{" + RUN + "}",
        "g" + RUN[1:],
        job_id_of(RUN)[:-1],
        job_id_of(RUN) + "0",
        job_id_of(RUN) + "\n",
        job_id_of(RUN).upper(),
        "job_" + "w" * 26,
        "job_" + "v" * 26,
        "job_8" + "0" * 25,
        "task_" + job_id_of(RUN)[4:],
        "٠" + RUN[1:],
        "job_" + "٠" * 26,
        "x" * 100_000,
    ],
)
def test_no_spelling_of_a_run(text: str) -> None:
    assert run_id_of(text) is None
