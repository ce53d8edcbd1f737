"""Questions as forms: which fields a schema becomes, and which answer a filled form is."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.domain.errors import InvalidInputError
from ringback.domain.ids import InteractionId
from ringback.services.forms import FieldKind, answer_of, fields_of
from ringback.services.questions import Answer, Interaction
from tests.builders import run_id

FLAT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "description": "As printed."},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "zone": {"enum": ["eu", "us", 3, None]},
        "size": {"oneOf": [{"const": 1, "title": "Small"}, {"const": 2}]},
        "pass": {"type": "string", "format": "password"},
    },
    "required": ["name", "zone"],
}


def asked(kind: str = "input", **question: Any) -> Interaction:
    return Interaction(
        interaction_id=InteractionId("int_1"),
        run_id=run_id(1),
        kind=kind,
        is_blocking=True,
        status="open",
        question={"title": "Well?", "key": "k", **question},
        expires_at=None,
        opened_at=0,
        closed_at=None,
        response=None,
    )


def test_a_flat_schema_is_a_field_for_each_member() -> None:
    fields = {each.name: each for each in fields_of(asked(responseSchema=FLAT))}
    assert {name: each.kind.value for name, each in fields.items()} == {
        "name": "text",
        "count": "integer",
        "share": "number",
        "sure": "boolean",
        "zone": "choice",
        "size": "choice",
        "pass": "hidden",
    }
    assert [name for name, each in fields.items() if each.is_required] == ["name", "zone"]
    assert (fields["name"].title, fields["name"].description, fields["count"].title) == (
        "Your name",
        "As printed.",
        "count",
    )
    assert fields["zone"].choices == (('"eu"', "eu"), ('"us"', "us"), ("3", "3"), ("null", "null"))
    assert fields["size"].choices == (("1", "Small"), ("2", "2"))


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ({}, ["text"]),
        ({"kind": "auth"}, ["hidden"]),
        ({"kind": "approval"}, []),
        ({"options": [{"id": "a"}]}, []),
        ({"responseSchema": {"type": "string"}}, ["text"]),
        ({"responseSchema": {"enum": ["a", "b"]}}, ["choice"]),
        ({"responseSchema": {"type": "array"}}, ["json"]),
        ({"responseSchema": {"type": "object"}}, ["json"]),
        ({"responseSchema": {"type": "object", "properties": {"a": {"type": "array"}}}}, ["json"]),
        ({"responseSchema": True}, ["json"]),
        (
            {"kind": "approval", "responseSchema": FLAT},
            ["text", "integer", "number", "boolean", "choice", "choice", "hidden"],
        ),
    ],
)
def test_what_is_not_flat_is_one_field(question: dict[str, Any], kinds: list[str]) -> None:
    assert [each.kind.value for each in fields_of(asked(**question))] == kinds


@pytest.mark.parametrize(
    ("question", "form", "answer"),
    [
        ({"kind": "approval"}, {"action": "approve"}, Answer(decision="approve")),
        ({"kind": "approval"}, {"action": "reject", "member.": "x"}, Answer(decision="reject")),
        ({"options": [{"id": "a"}]}, {"action": "answer", "option": "a"}, Answer(selected_option_id="a")),
        ({}, {"action": "answer", "member.": "a\r\nb"}, Answer(payload="a\nb", has_payload=True)),
        ({}, {"action": "answer", "member.": ""}, Answer()),
        (
            {"responseSchema": {"type": "integer"}},
            {"action": "answer", "member.": "7"},
            Answer(payload=7, has_payload=True),
        ),
        (
            {"responseSchema": {"type": "array"}},
            {"action": "answer", "member.": "[1]"},
            Answer(payload=[1], has_payload=True),
        ),
        ({"responseSchema": True}, {"action": "answer", "member.": "[1"}, Answer(payload="[1", has_payload=True)),
        (
            {"responseSchema": FLAT},
            {
                "action": "answer",
                "member.name": "Ada",
                "member.count": " 3 ",
                "member.share": "0.5",
                "member.sure": "yes",
                "member.zone": "3",
                "member.size": "2",
                "member.pass": "p",
            },
            Answer(
                payload={"name": "Ada", "count": 3, "share": 0.5, "sure": True, "zone": 3, "size": 2, "pass": "p"},
                has_payload=True,
            ),
        ),
        (
            {"responseSchema": FLAT},
            {"action": "answer", "member.count": "many", "member.share": "NaN", "member.zone": ""},
            Answer(payload={"count": "many", "share": "NaN", "sure": False}, has_payload=True),
        ),
        ({"kind": "approval", "responseSchema": FLAT}, {"action": "approve"}, Answer(decision="approve")),
        (
            {"kind": "approval", "responseSchema": {"type": "object", "properties": {"why": {"type": "string"}}}},
            {"action": "approve", "member.why": "ok"},
            Answer(decision="approve", payload={"why": "ok"}, has_payload=True),
        ),
    ],
)
def test_a_filled_form_is_an_answer(question: dict[str, Any], form: dict[str, str], answer: Answer) -> None:
    assert answer_of(asked(**question), form) == answer


@pytest.mark.parametrize(
    ("question", "form", "pointer"),
    [
        ({}, {}, "/decision"),
        ({}, {"action": "explode"}, "/decision"),
        ({"responseSchema": {"type": "array"}}, {"action": "answer", "member.": "[1"}, "/payload"),
    ],
)
def test_what_is_no_answer_is_named(question: dict[str, Any], form: dict[str, str], pointer: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        answer_of(asked(**question), form)
    assert [flaw.pointer for flaw in refused.value.flaws] == [pointer]


def test_members_with_odd_names_keep_them() -> None:
    schema = {"type": "object", "properties": {"a/b ~": {"type": "string"}}}
    (field,) = fields_of(asked(responseSchema=schema))
    assert (field.input_name, field.pointer, field.kind) == ("member.a/b ~", "/payload/a~1b ~0", FieldKind.TEXT)
