"""From `[tools.NAME.http]` to `http` of a profile: names, durations and sizes are translated, the rules are the domain's."""

from __future__ import annotations

from typing import Any, Final

from ringback.domain.http_profile import http_flaws, secrets_in
from ringback.toolfile.inputs import Inputs
from ringback.toolfile.tables import DAY_S, Table

_REQUEST: Final = (
    "method",
    "url",
    "query",
    "headers",
    "body",
    "form",
    "idempotency_header",
    "timeout",
    "answer_limit",
    "origins",
    "follow",
    "callback",
)
_FOLLOW: Final = {
    "style": "style",
    "on": "on",
    "headers": "headers",
    "location": "location",
    "status_url": "statusUrl",
    "state": "state",
    "running": "running",
    "done": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "progress": "progress",
    "total": "total",
    "message": "message",
    "error": "error",
    "result": "result",
    "result_location": "resultLocation",
    "result_url": "resultUrl",
    "cancel_method": "cancelMethod",
    "cancel_url": "cancelUrl",
    "interval": "intervalS",
    "max_interval": "intervalMaxS",
    "patience": "patienceS",
}
_DURATIONS: Final = ("interval", "max_interval", "patience")
_KEYS: Final = {"idempotencyHeader": "idempotency_header", "timeoutS": "timeout", "answerBytes": "answer_limit"}


def read_http(table: Table, inputs: Inputs, secrets: list[str]) -> dict[str, Any]:
    """The members that an http tool adds to its profile: `http`, and `secrets` with those that its headers name."""
    http = _request(table.inner("http"))
    named = list(dict.fromkeys([*secrets, *secrets_in(http)]))
    profile = {"http": http, "secrets": named}
    for flaw in http_flaws(profile, inputs.schema):
        _note(table.inner("http"), flaw.pointer.split("/")[2:], flaw.detail)
    return profile


def _request(table: Table) -> dict[str, Any]:
    table.refuse_unknown(_REQUEST)
    plain = ("method", "url", "query", "headers", "body", "form", "origins", "callback")
    http: dict[str, Any] = {name: table.data[name] for name in plain if name in table.data}
    if "idempotency_header" in table.data:
        http["idempotencyHeader"] = table.data["idempotency_header"]
    if (timeout := table.seconds("timeout", low=0.1, high=600)) is not None:
        http["timeoutS"] = timeout
    if (size := table.size("answer_limit")) is not None:
        http["answerBytes"] = size
    if "follow" in table.data:
        http["follow"] = _follow(table.inner("follow"))
    return http


def _follow(table: Table) -> dict[str, Any]:
    table.refuse_unknown(_FOLLOW)
    follow = {public: table.data[key] for key, public in _FOLLOW.items() if key in table.data and key not in _DURATIONS}
    for key in _DURATIONS:
        if (value := table.seconds(key, low=0.05, high=7 * DAY_S)) is not None:
            follow[_FOLLOW[key]] = value
    return follow


def _note(table: Table, path: list[str], rule: str) -> None:
    """Note a flaw at its key, spelled as in the file; unknown keys were noted already."""
    if rule.startswith("unknown member"):
        return
    names = {public: key for key, public in _FOLLOW.items()} | _KEYS
    while len(path) > 1 and isinstance(table.data.get(path[0]), dict):
        table, path = table.inner(path[0]), path[1:]
    table.note(names.get(path[0], path[0]) if path else "", rule)
