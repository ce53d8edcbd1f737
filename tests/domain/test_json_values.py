"""JSON as values: what may not come in, and which payloads are the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from ringback.domain.json_values import DEPTH_MAX, escape, fingerprint, flaws_of, text_flaw

NUL, SURROGATE = "holds a NUL character", "holds an unpaired surrogate"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "flaws"),
    [
        ({"a": [1, "x", None, True, 1.5, {"b": "é😀"}]}, []),
        ("a\0b", [("", NUL)]),
        ({"a": ["ok", "a\0"]}, [("/a/1", NUL)]),
        ({"a/b~c": "\0"}, [("/a~1b~0c", NUL)]),
        ({"x\0": 1}, [("", f"a member's name {NUL}")]),
        ({"\ud800": 1}, [("", f"a member's name {SURROGATE}")]),
        (["x\ud83d"], [("/0", SURROGATE)]),
        (["\udfff", "\ue000", "\ud7ff"], [("/0", SURROGATE)]),
        ({"a": float("nan"), "b": float("inf"), "c": float("-inf")},
         [("/a", "is not a finite number"), ("/b", "is not a finite number"), ("/c", "is not a finite number")]),
        ({"a": "\0", "b": ["\0"]}, [("/a", NUL), ("/b/0", NUL)]),
        (2512292042121000001, []),
        (b"\0", []),
        (nested(DEPTH_MAX), []),
        (nested(DEPTH_MAX + 1), [("/0" * (DEPTH_MAX + 1), f"nested deeper than {DEPTH_MAX} levels")]),
    ],
)  # fmt: skip
def test_flaws(value: Any, flaws: list[tuple[str, str]]) -> None:
    expected = [(pointer[:200], detail) for pointer, detail in flaws]
    assert [(flaw.pointer, flaw.detail) for flaw in flaws_of(value)] == expected


def test_flaws_are_found_below_a_pointer() -> None:
    assert [flaw.pointer for flaw in flaws_of({"a": "\0"}, "/arguments")] == ["/arguments/a"]


def test_members_nest_as_items_do() -> None:
    value: Any = 1
    for _ in range(DEPTH_MAX):
        value = {"a": value}
    assert list(flaws_of(value)) == []
    value = {"a": value}
    assert [flaw.detail for flaw in flaws_of(value)] == [f"nested deeper than {DEPTH_MAX} levels"]


def test_text() -> None:
    assert text_flaw("plain") is None
    assert text_flaw("é😀") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":"\\u00e9"}', '{ "b" : "é", "a" : 1 }'),
        ('{"a":{"x":1,"y":[1,2]}}', '{"a":{"y":[1,2],"x":1}}'),
        ("1", "1.0"),
        ("[1.0]", "[1]"),
        ('{"a":{"b":2.0}}', '{"a":{"b":2}}'),
        ("0", "-0.0"),
        ("1e3", "1000"),
        ("0.1", "0.10"),
        ("10000000000000000000000", "1e22"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    assert fingerprint(json.loads(one)) == fingerprint(json.loads(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "2"),
        ("1", '"1"'),
        ("1", "true"),
        ("0", "false"),
        ("null", "{}"),
        ("null", '"null"'),
        ("[1,2]", "[2,1]"),
        ("[]", "{}"),
        ('{"a":1}', '{"a":1,"b":null}'),
        ("1", "1.5"),
        ("2512292042121000001", "2512292042121000000"),
        ("9007199254740993", "9007199254740992.0"),
        ('"a"', '"A"'),
        ('"é"', '"e\\u0301"'),
    ],
)
def test_not_the_same(one: str, other: str) -> None:
    assert fingerprint(json.loads(one)) != fingerprint(json.loads(other))


def test_tuples_are_lists() -> None:
    assert fingerprint((1, (2,))) == fingerprint([1, [2]])


def test_a_fingerprint_that_was_stored_is_still_found() -> None:
    assert fingerprint({"b": [1.0, "é", None], "a": {}}) == "fee3b36b79785a95356e7205700de4f5"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@settings(max_examples=50)
@given(VALUES)
def test_a_round_trip_keeps_the_fingerprint(value: Any) -> None:
    again = json.loads(json.dumps(value, ensure_ascii=False, indent=1))
    assert fingerprint(again) == fingerprint(value)


@given(st.text(st.characters(exclude_categories=[])))
def test_escaped_names_are_told_apart(name: str) -> None:
    escaped = escape(name)
    assert "/" not in escaped
    assert escaped.replace("~1", "/").replace("~0", "~") == name
