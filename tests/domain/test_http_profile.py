"""What is refused about an http tool when it is defined."""

from __future__ import annotations

from typing import Any

import pytest

from ringback.domain.http_profile import http_flaws, secrets_in

URL = "https://api.example.com/jobs"


def flaws(http: Any, *, secrets: tuple[str, ...] = (), inputs: tuple[str, ...] = ()) -> list[str]:
    schema: dict[str, Any] = {"properties": {name: {} for name in inputs}}
    return [flaw.pointer for flaw in http_flaws({"http": http, "secrets": list(secrets)}, schema)]


def test_sound_ones() -> None:
    assert flaws({"url": URL}, inputs=("a",)) == []
    follow = {
        "style": "openai",
        "on": [200],
        "headers": ["X-Job"],
        "location": "/links/self",
        "state": ["/a", ""],
        "running": ["x", 1, True],
        "statusUrl": "{@url}/{/id}",
        "resultUrl": "/files/{/file}/{a}",
        "cancelUrl": "https://cancel.example.com/{+/name}",
        "cancelMethod": "none",
        "intervalS": 1,
    }
    http = {
        "method": "PUT",
        "url": URL + "/{a}?x={a}",
        "query": {"n": 1, "l": ["{a}"]},
        "headers": {"Authorization": "Bearer {secret:T}"},
        "body": {"a": ["{a}", {"b": "{callback_url}"}], "key": "{idempotency_key}"},
        "callback": {"secret": "HOOK"},
        "origins": ["https://files.example.com", "http://[::1]:80/"],
        "idempotencyHeader": "",
        "follow": follow,
    }
    assert flaws(http, secrets=("T",), inputs=("a",)) == []
    assert secrets_in(http) == ["T"]
    assert secrets_in({"headers": {"A": "{"}}) == []


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"url": "/jobs"}, "/http/url"),
        ({"url": "https://{a}.example.com/"}, "/http/url"),
        ({"url": "https://user:pw@example.com/"}, "/http/url"),
        ({"url": URL + "#x"}, "/http/url"),
        ({"url": URL + "/{"}, "/http/url"),
        ({"url": URL + "/{secret:T}"}, "/http/url"),
        ({"url": URL + "/{/id}"}, "/http/url"),
        ({"url": 1}, "/http/url"),
        ({"method": "TRACE"}, "/http/method"),
        ({"method": "GET", "body": {}}, "/http/body"),
        ({"body": {}, "form": {}}, "/http/form"),
        ({"body": {"a": ["{secret:T}"]}}, "/http/body/a/0"),
        ({"query": []}, "/http/query"),
        ({"query": {"a": {"b": 1}}}, "/http/query/a"),
        ({"query": {"a": ["{"]}}, "/http/query/a/0"),
        ({"headers": {"Host": "x"}}, "/http/headers/Host"),
        ({"headers": {"a b": "x"}}, "/http/headers/a b"),
        ({"headers": {"A": 1}}, "/http/headers/A"),
        ({"headers": {"authorization": "Bearer abc"}}, "/http/headers/authorization"),
        ({"idempotencyHeader": "a b"}, "/http/idempotencyHeader"),
        ({"timeoutS": 0}, "/http/timeoutS"),
        ({"answerBytes": True}, "/http/answerBytes"),
        ({"origins": ["https://x.example/path"]}, "/http/origins"),
        ({"origins": "https://x.example"}, "/http/origins"),
        ({"follow": []}, "/http/follow"),
        ({"follow": {"style": "soap"}}, "/http/follow/style"),
        ({"follow": {"on": [302]}}, "/http/follow/on"),
        ({"follow": {"state": "status"}}, "/http/follow/state"),
        ({"follow": {"headers": "a b"}}, "/http/follow/headers"),
        ({"follow": {"done": "done"}}, "/http/follow/done"),
        ({"follow": {"cancelMethod": "GET"}}, "/http/follow/cancelMethod"),
        ({"follow": {"intervalS": "1s"}}, "/http/follow/intervalS"),
        ({"follow": {"statusUrl": "jobs/{/id}"}}, "/http/follow/statusUrl"),
        ({"follow": {"statusUrl": "//evil.example/{/id}"}}, "/http/follow/statusUrl"),
        ({"follow": {"statusUrl": "https://{/host}/x"}}, "/http/follow/statusUrl"),
        ({"follow": {"statusUrl": "/x/{@status}"}}, "/http/follow/statusUrl"),
        ({"follow": {"statusUrl": "{@nowhere}/x"}}, "/http/follow/statusUrl"),
        ({"follow": {"statusUrl": ""}}, "/http/follow/statusUrl"),
        ({"callback": "yes"}, "/http/callback"),
        ({"callback": {"secret": "a b"}}, "/http/callback/secret"),
        ({"callback": {"x": 1}}, "/http/callback/x"),
        ({"callback": True}, "/http/callback"),
        ({"body": {"a": "{callback_url}"}}, "/http/callback"),
        ({"body": {"a": "{nobody}"}}, "/http"),
        ({"headers": {"A": "{secret:OTHER}"}}, "/secrets"),
        ({"x": 1}, "/http/x"),
        ({"follow": {"x": 1}}, "/http/follow/x"),
    ],
)
def test_refused(change: dict[str, Any], pointer: str) -> None:
    assert pointer in flaws({"url": URL, **change})


def test_inputs_have_a_place_and_names_of_their_own() -> None:
    assert flaws(None) == ["/http"]
    assert flaws({"url": URL, "method": "GET"}, inputs=("a",)) == ["/http"]
    assert flaws({"url": URL, "body": {}}, inputs=("a",)) == ["/http"]
    assert flaws({"url": URL}, inputs=("callback_url",)) == ["/http"]
