"""HTTP templates: whatever a value is, it stays in the place that the template gives it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given, strategies as st

from ringback.domain.http_request import build, check_arguments, own_origins
from ringback.domain.http_template import (
    MISSING,
    HttpTemplateError,
    Values,
    at,
    encoded_pairs,
    fill_headers,
    fill_json,
    fill_link,
    fill_pairs,
    origin_of,
    pieces_of,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)
)


def values(**inputs: Any) -> Values:
    return Values(inputs=inputs, secrets={"TOKEN": "t0k"}, answer={"id": "a/b", "n": 7}, places={"url": "https://a/x"})


@given(TEXT)
def test_a_value_is_one_segment_of_a_path_or_refused(value: str) -> None:
    try:
        url = fill_link("https://api.example.com/v1/{team}/jobs?q={team}", values(team=value))
    except HttpTemplateError:
        assert value in ("", ".", "..")
        return
    parts = urlsplit(url)
    assert parts.netloc == "api.example.com"
    assert [unquote(segment) for segment in parts.path.split("/")] == ["", "v1", value, "jobs"]
    assert parse_qsl(parts.query, keep_blank_values=True) == [("q", value)]
    assert not parts.fragment


@given(st.lists(TEXT), TEXT)
def test_a_query_says_exactly_what_the_caller_gave(tags: list[str], note: str) -> None:
    pairs = fill_pairs({"tag": "{tags}", "a note": "n:{note}", "none": "{absent}"}, values(tags=tags, note=note))
    expected = [*(("tag", tag) for tag in tags), ("a note", f"n:{note}")]
    assert parse_qsl(encoded_pairs(pairs), keep_blank_values=True, max_num_fields=None) == expected


@given(TEXT)
def test_a_header_is_one_line_or_refused(value: str) -> None:
    try:
        headers = fill_headers({"X-Note": "{note}"}, values(note=value))
    except HttpTemplateError as error:
        assert error.pointer == "/note"
        return
    assert headers == {"X-Note": value}
    assert value.encode("latin-1").strip() == value.encode("latin-1")
    assert not any(ord(char) < 0x20 and char != "\t" for char in value)


@given(JSON)
def test_a_value_in_json_stays_what_it_is(value: Any) -> None:
    template = {"whole": "{v}", "list": ["{v}", 1], "deep": {"k": "{v}"}}
    expected: Any = {"list": [1], "deep": {}}
    if value is not None:
        expected = {"whole": value, "list": [value, 1], "deep": {"k": value}}
    assert fill_json(template, values(v=value)) == expected


def test_texts_mix_scalars_only() -> None:
    assert fill_json("{a}-{b}-{c}{{}}", values(a=1, b=True, c="x")) == "1-true-x{}"
    assert fill_json("{a}-{b}", values(a=1)) is MISSING
    assert fill_json(5, values()) == 5
    for wrong in ([1], {"a": 1}):
        with pytest.raises(HttpTemplateError, match="inside a text"):
            fill_json("{a}!", values(a=wrong))


def test_links_take_members_of_an_answer() -> None:
    assert fill_link("{@url}/{/id}", values()) == "https://a/x/a%2Fb"
    assert fill_link("/v1/{+/id}:cancel", values()) == "/v1/a/b:cancel"
    assert fill_link("/v1/{/n}", values()) == "/v1/7"
    with pytest.raises(HttpTemplateError, match="needed"):
        fill_link("/v1/{/nothing}", values())
    with pytest.raises(HttpTemplateError, match="lead out"):
        fill_link("/v1/{+/id}", Values(inputs={}, answer={"id": "../x"}))


@pytest.mark.parametrize("text", ["{", "a}b", "{a b}", "{secret:}", "{@UP}"])
def test_a_lone_brace_is_no_template(text: str) -> None:
    with pytest.raises(HttpTemplateError, match="lone"):
        pieces_of(text)


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("", {"a": [{"b/c": 1, "m~n": None}]}),
        ("/a/0/b~1c", 1),
        ("/a/0/m~0n", None),
        ("/a/1", MISSING),
        ("/a/00", MISSING),
        ("/a/-", MISSING),
        ("/x", MISSING),
        ("/a/0/b~1c/d", MISSING),
    ],
)
def test_pointers(pointer: str, found: Any) -> None:
    assert at(pointer, {"a": [{"b/c": 1, "m~n": None}]}) == found


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://API.example.com/x", "https://api.example.com:443"),
        ("https://api.example.com:443", "https://api.example.com:443"),
        ("http://[::1]:8080/x", "http://[::1]:8080"),
        ("http://h:?q", "http://h:80"),
        ("HTTP://h#f", "http://h:80"),
        ("https://user@h/", None),
        ("https://h\\@evil/", None),
        ("https://api.example.com@evil/", None),
        ("https://api.example.com:443@evil/", None),
        ("ftp://h/", None),
        ("//h/x", None),
        ("/x", None),
        ("https:///x", None),
    ],
)
def test_origins(url: str, origin: str | None) -> None:
    assert origin_of(url) == origin


def test_requests() -> None:
    http: dict[str, Any] = {
        "url": "https://a.example/x?y=1",
        "query": {"z": 2},
        "headers": {"X-A": "{a}", "X-B": "{b}"},
    }
    request = build(http, values(a="1", c=[1]))
    assert (request.method, request.url, request.headers) == ("POST", "https://a.example/x?y=1&z=2", {"X-A": "1"})
    assert json.loads(request.body or b"") == {"c": [1]}  # what has no other place
    assert build({**http, "method": "GET"}, values(a="1")).body is None
    form = build({**http, "form": {"a": "{a}&", "l": "{l}"}}, values(a="1", l=[1, 2]))
    assert (form.body, form.content_type) == (b"a=1%26&l=1&l=2", "application/x-www-form-urlencoded")
    assert build({**http, "body": "{absent}"}, values(a="1")).body is None
    follow = {"statusUrl": "https://status.example/{/id}", "cancelUrl": "{@status}"}
    assert own_origins({**http, "follow": follow}) == {"https://a.example:443", "https://status.example:443"}


def test_arguments_are_judged_before_a_run_is_made() -> None:
    http = {
        "url": "https://a.example/{a}",
        "headers": {"Authorization": "Bearer {secret:TOKEN}"},
        "body": ["{callback_url}"],
    }
    profile = {"http": http, "defaults": {"a": "x"}}
    check_arguments(profile, {})
    check_arguments(profile, {"a": None})
    with pytest.raises(HttpTemplateError) as caught:
        check_arguments(profile, {"a": ".."})
    assert (caught.value.pointer, str(caught.value)) == ("/a", "/a: would lead out of its place in the address")
