"""What functions may return, and how anything else ends: with a reason, for its own attempt only (O33, O34, O35, O79)."""

import datetime
from typing import Any

import pydantic
import pytest

from ringback.worker.jsonable import UnserialisableError, preview, to_json
from tests.worker.functions import functions

CARRIED: dict[str, Any] = {
    "none": None,
    "number": 2512292042121000001,
    "huge": 2**200,
    "float": 1.5,
    "text": "é\0",
    "bytes": "YWL/",
    "datetime": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "duration": "PT90S",
    "decimal": "1.10",
    "uuid": "00000000-0000-0000-0000-000000000001",
    "path": "/a/b",
    "enum": {"colour": "red"},
    "set": [1, 2, 3],
    "tuple": [1, "a"],
    "dataclass": {"x": 1, "y": 0},
    "struct": {"fullName": "Ada"},
}
REFUSED = {
    "lambda": "the value: function",
    "file": "the value: TextIOWrapper",
    "iterator": "/a: list_iterator",
    "object": "/0: object",
    "stubborn": "/a/b: Stubborn",
    "long": "100000002 bytes of JSON, 8388608 are allowed",
    "itself": "/0: contains itself",
    "nan": "/a/1: nan",
    "surrogate": "/a: an unpaired surrogate",
    "key": "the value: a key of type tuple",
    "class": "the value: type",
}


async def test_results_arrive_by_the_documented_mapping() -> None:
    async with functions() as tools:
        for kind, expected in CARRIED.items():
            assert await tools.value("result", kind=kind) == expected, kind


async def test_what_has_no_json_form_fails_its_own_attempt_and_says_where() -> None:
    async with functions(slots=1) as tools:
        before = await tools.value("whoami")
        for kind, reason in REFUSED.items():
            outcome = await tools.call("result", {"kind": kind})
            assert (outcome.kind, outcome.error_kind) == ("failed", "tool_error"), kind
            assert outcome.error_message == f"not serialisable: {reason}"
            assert not outcome.retryable
        after = await tools.value("whoami")
        assert after == {"pid": before["pid"], "call": before["call"] + 1}


@pytest.mark.parametrize("tool", ["echo", "aecho"])
async def test_any_json_goes_through_unchanged(tool: str) -> None:
    value = {"x": "a\0b", "n": 2512292042121000001, "deep": [[{"é": [None, True, -(2**70), 1e300, "😀"]}]]}
    async with functions() as tools:
        assert await tools.value(tool, value=value) == value


def test_models_of_pydantic_are_objects() -> None:
    class Model(pydantic.BaseModel):
        when: datetime.date

    assert bytes(to_json({"models": [Model(when=datetime.date(2026, 1, 2))]})) == b'{"models":[{"when":"2026-01-02"}]}'


async def test_a_result_of_the_largest_size_arrives() -> None:
    value = "x" * (8 * 1024 * 1024 - 2)
    async with functions() as tools:
        assert await tools.value("echo", value=value) == value


def test_foreign_code_in_a_value_cannot_escape() -> None:
    class Odd:
        @property  # type: ignore[misc]
        def __class__(self) -> type:
            raise RuntimeError("no class")

    with pytest.raises(UnserialisableError, match="RuntimeError: no class"):
        to_json([Odd()])


def test_too_deep_a_nesting_is_a_reason_like_any_other() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(UnserialisableError, match=r"nested too deeply|RecursionError"):
        to_json(value)


def test_a_result_without_a_summary_is_shown_by_its_begin() -> None:
    assert preview(None) is None
    assert preview({"pages": 3}) == '{"pages":3}'
    assert preview(["x" * 500]) == '["' + "x" * 197 + "…"
