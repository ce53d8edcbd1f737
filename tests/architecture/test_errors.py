"""Errors: one tree, a stable code for each kind, and an entry for each in the table of its surface."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from ringback.api.problems import STATUS_OF
from ringback.client.errors import BY_CODE
from ringback.domain import errors


def _below(kind: type[errors.RingbackError]) -> Iterator[type[errors.RingbackError]]:
    for sub in kind.__subclasses__():
        yield sub
        yield from _below(sub)


KINDS = tuple(kind for kind in _below(errors.RingbackError) if kind.__module__ == errors.__name__)


def _example(kind: type[errors.RingbackError]) -> errors.RingbackError:
    if issubclass(kind, errors.InvalidInputError) and (
        kind is errors.InvalidInputError or "__init__" not in vars(kind)
    ):
        return kind(errors.Flaw("/a", "b"))
    if kind.__init__ is Exception.__init__:
        return kind()
    values: dict[str, Any] = {
        "int": 7,
        "str": "x",
        "Mapping[str, Any] | None": None,
        "tuple[int, ...]": (1,),
        "str | None": None,
    }
    parameters = list(inspect.signature(kind).parameters.values())
    return kind(*(values[parameter.annotation] for parameter in parameters))


def test_codes_are_unique() -> None:
    codes = [errors.RingbackError.code, *(kind.code for kind in KINDS)]
    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_codes_follow_the_rules(kind: type[errors.RingbackError]) -> None:
    assert kind.__name__.endswith("Error")
    assert "code" in vars(kind), "each kind has a code of its own"
    assert kind.__name__ in (errors.__doc__ or ""), "the tree in the module's docstring shows it"


@pytest.mark.parametrize("kind", KINDS)
def test_messages_are_one_line(kind: type[errors.RingbackError]) -> None:
    message = str(_example(kind))
    assert "\n" not in message
    assert len(message) < 300


def test_every_error_has_an_http_status_of_its_own() -> None:
    assert set(STATUS_OF) == set(KINDS)


def test_statuses_say_whether_a_repetition_may_help() -> None:
    later = HTTPStatus.TOO_MANY_REQUESTS
    assert [
        kind.__name__
        for kind in KINDS
        if kind.retryable != (STATUS_OF[kind] is later or STATUS_OF[kind] >= HTTPStatus.INTERNAL_SERVER_ERROR)
    ] == []


def test_the_client_knows_only_codes_that_exist() -> None:
    assert set(BY_CODE) <= {kind.code for kind in KINDS}
