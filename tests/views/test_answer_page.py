"""The page behind a link: everything escaped, everything labelled, nothing from elsewhere."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from ringback.domain.errors import Flaw
from ringback.services.questions import Interaction
from ringback.views.answer_page import HEADERS, ended_page, message_page, question_page
from tests.services.test_forms import FLAT, asked

EVIL = "<script>alert(1)</script>\"'&"


class Page(HTMLParser):
    """The elements of a page."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(body.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def evil() -> Interaction:
    schema = {
        "type": "object",
        "properties": {
            EVIL: {"type": "string", "title": EVIL, "description": EVIL, "default": EVIL},
            "pick": {"enum": [EVIL], "default": EVIL},
        },
    }
    return asked(title=EVIL, description=EVIL, responseSchema=schema, options=[{"id": EVIL, "label": EVIL}])


@pytest.mark.parametrize(
    "body",
    [
        question_page(evil(), tool=EVIL, given={f"member.{EVIL}": EVIL}, flaws=[Flaw(f"/payload/{EVIL}", EVIL)]),
        question_page(evil(), tool=EVIL),
        ended_page(
            replace(evil(), status="answered", response={"payload": EVIL, "submittedBy": EVIL, "decision": EVIL})
        ),
        message_page(EVIL, EVIL),
    ],
)
def test_everything_foreign_is_escaped_and_nothing_is_loaded(body: bytes) -> None:
    page = Page(body)
    assert page.of("script") == []
    known = {"html", "head", "meta", "title", "style", "body", "main", "div", "h1", "p", "form", "fieldset", "legend"}
    known |= {"label", "input", "select", "option", "textarea", "button", "dl", "dt", "dd", "ul", "li", "strong"}
    assert {name for name, _ in page.elements} <= known
    for name, attributes in page.elements:
        assert not {"src", "href", "style", "action"} & set(attributes), name
        assert not [each for each in attributes if each.startswith("on")], name
    assert any(EVIL in text for text in page.texts)


def test_every_control_has_its_label_and_the_page_a_language() -> None:
    flaw = Flaw("/payload/name", "is too short")
    page = Page(question_page(asked(responseSchema=FLAT), tool="deploy", given={"member.name": "A"}, flaws=[flaw]))
    assert page.of("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.of("meta")
    labels = {each["for"] for each in page.of("label") if "for" in each}
    controls = [*page.of("select"), *page.of("textarea"), *page.of("input")]
    for control in controls:
        assert control["type"] == "checkbox" if "id" not in control else control["id"] in labels
    (name,) = [each for each in controls if each["name"] == "member.name"]
    assert (name["value"], name["aria-invalid"]) == ("A", "true")
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert set(str(name["aria-describedby"]).split()) <= ids
    assert [each for _, each in page.elements if each.get("role") == "alert"]
    assert "Your name: is too short" in page.texts


def test_what_was_filled_in_stays() -> None:
    given = {"member.name": "Ada", "member.sure": "yes", "member.zone": '"us"', "member.count": "x", "member.pass": "p"}
    body = question_page(asked(responseSchema=FLAT), tool="t", given=given, flaws=[Flaw("/payload/count", "no")])
    page = Page(body)
    inputs = {str(each["name"]): each for each in page.of("input")}
    assert (inputs["member.name"]["value"], inputs["member.count"]["value"]) == ("Ada", "x")
    assert "checked" in inputs["member.sure"]
    assert [each["value"] for each in page.of("option") if "selected" in each] == ['"us"']
    assert "value" not in inputs["member.pass"], "a secret is never sent back"


@pytest.mark.parametrize(
    ("question", "buttons"),
    [
        ({"kind": "approval"}, ["Approve", "Reject"]),
        ({"kind": "confirmation"}, ["Confirm", "Reject"]),
        ({"kind": "approval", "options": [{"id": "a"}]}, ["Send answer", "Reject"]),
        ({}, ["Send answer", "Refuse to answer"]),
    ],
)
def test_buttons_say_what_they_do(question: dict[str, Any], buttons: list[str]) -> None:
    page = Page(question_page(asked(**question), tool="t"))
    assert [each["value"] for each in page.of("button")][1] == "reject"
    assert [text for text in page.texts if text in buttons] == buttons


def test_the_end_shows_the_answer_that_counts_and_no_secret() -> None:
    said = {"selectedOptionId": "b", "payload": {"n": 1}, "submittedBy": "ann", "submittedAt": "2026-01-01T00:00:00Z"}
    over = replace(asked(options=[{"id": "b", "label": "Blue"}]), status="answered", response=said)
    texts = Page(ended_page(over, is_late=True)).texts
    assert {"Blue", "ann", "2026-01-01T00:00:00Z", "This question was answered"} <= set(texts)
    assert any("too late" in text for text in texts)
    secret = replace(asked("auth"), status="answered", response={"payload": "hunter2", "submittedBy": "ann"})
    assert b"hunter2" not in ended_page(secret)
    for status, words in (
        ("expired", b"time for this question is over"),
        ("withdrawn", b"taken back"),
        ("open", b"taken back"),
    ):
        assert words in ended_page(replace(asked(), status=status))


def test_the_time_that_is_left_and_json_are_shown() -> None:
    page = question_page(
        replace(asked(responseSchema={"type": "array", "default": ["é"]}), expires_at=1_767_225_600_000_000), tool="t"
    )
    assert b"until 2026-01-01 00:00 UTC" in page
    assert "[&quot;é&quot;]".encode() in page
    assert b"Written as JSON." in page


def test_the_headers_forbid_what_the_page_does_not_need() -> None:
    policy = HEADERS["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert "unsafe" not in policy
    assert (HEADERS["referrer-policy"], HEADERS["cache-control"]) == ("no-referrer", "no-store")
