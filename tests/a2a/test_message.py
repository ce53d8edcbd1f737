"""What messages ask for, part by part."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ringback.a2a.message import Content, answer_of, content_of, plain, wanted_of
from ringback.domain.errors import InvalidInputError
from ringback.services.questions import Answer
from ringback.services.resources import Resource
from tests.views.test_a2a import question


class _Tool:
    """As much of a tool as a message looks at."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.definition = {"inputSchema": schema}


def tools(**schemas: dict[str, Any]) -> dict[str, Resource]:
    return {name: cast("Resource", _Tool(schema)) for name, schema in schemas.items()}


ONE_TEXT = {"properties": {"text": {"type": "string"}, "more": {}}, "required": ["text"]}
TWO = {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}


@pytest.mark.parametrize(
    ("parts", "known", "expected"),
    [
        ([{"data": {"tool": "a", "arguments": {"n": 2.0}}}], tools(a={}, b={}), ("a", {"n": 2})),
        ([{"data": {"tool": "a"}}], tools(), ("a", {})),
        ([{"data": {"arguments": {"x": 1.5}}}], tools(a={}), ("a", {"x": 1.5})),
        ([{"data": {"x": [1.0, {"y": 2.0}]}}], tools(a={}), ("a", {"x": [1, {"y": 2}]})),
        ([{"text": "hello"}, {"text": "you"}], tools(a=ONE_TEXT), ("a", {"text": "hello\nyou"})),
        ([{"data": {"tool": "a"}}, {"text": "hi"}], tools(a=ONE_TEXT, b={}), ("a", {"text": "hi"})),
        ([{"text": "hello"}], tools(a=TWO), ("a", {})),
    ],
)
def test_starts(parts: Any, known: Any, expected: tuple[str, Any]) -> None:
    wanted = wanted_of(content_of(parts), known)
    assert (wanted.name, wanted.arguments, wanted.kind) == (*expected, "tool")


@pytest.mark.parametrize(
    ("parts", "known", "agents"),
    [
        ([{"data": {"agent": "helper"}}, {"text": "hello"}], tools(a={}), ["helper", "other"]),
        ([{"text": "hello"}], tools(), ["helper"]),
    ],
)
def test_words_for_an_agent(parts: Any, known: Any, agents: list[str]) -> None:
    wanted = wanted_of(content_of(parts), known, agents)
    assert (wanted.name, wanted.kind) == ("helper", "agent")
    assert wanted.body == {"mode": "agent", "messages": [{"role": "user", "content": "hello"}]}


@pytest.mark.parametrize(
    ("parts", "known"),
    [
        ([{"data": {"agent": "helper"}}], tools()),
        ([{"data": {"agent": "helper", "tool": "a"}}, {"text": "x"}], tools(a={})),
        ([{"data": {"agent": 1}}, {"text": "x"}], tools()),
        ([{"text": "x"}], tools(a=ONE_TEXT)),
    ],
)
def test_what_is_nothing_for_an_agent(parts: Any, known: Any) -> None:
    with pytest.raises(InvalidInputError):
        wanted_of(content_of(parts), known, ["helper"])


@pytest.mark.parametrize(
    ("parts", "known"),
    [
        ([{"url": "http://x"}], tools(a={})),
        ([{"data": {}}, {"data": {}}], tools(a={})),
        ([{"data": [1]}], tools(a={})),
        ([{"text": "x"}], tools(a={}, b={})),
        ([{"text": "x"}], tools()),
        ([{"data": {"tool": 1}}], tools(a={})),
        ([{"data": {"tool": "a", "x": 1}}], tools(a={})),
        ([{"data": {"tool": "a", "arguments": []}}], tools(a={})),
    ],
)
def test_what_is_no_start(parts: Any, known: Any) -> None:
    with pytest.raises(InvalidInputError):
        wanted_of(content_of(parts), known)


@pytest.mark.parametrize(
    ("kind", "content", "answer"),
    [
        ("approval", Content(data=None, text=" Yes "), Answer(decision="approve")),
        ("approval", Content(data=None, text="no"), Answer(decision="reject")),
        ("input", Content(data=None, text="no"), Answer(decision="reject")),
        ("input", Content(data=None, text="blue"), Answer(payload="blue", has_payload=True)),
        ("input", Content(data={"payload": None}, text=""), Answer(payload=None, has_payload=True)),
        ("input", Content(data={"selectedOptionId": "a"}, text="x"), Answer(selected_option_id="a")),
    ],
)
def test_answers(kind: str, content: Content, answer: Answer) -> None:
    assert answer_of(content, question(kind)) == answer


@pytest.mark.parametrize(
    "content", [Content(data=None, text="perhaps"), Content(data={}, text=""), Content(data={"x": 1}, text="")]
)
def test_what_is_no_answer(content: Content) -> None:
    with pytest.raises(InvalidInputError):
        answer_of(content, question())


def test_whole_numbers_are_integers_again() -> None:
    assert [type(each) for each in plain([1.0, 1.5, "x", True])] == [int, float, str, bool]
