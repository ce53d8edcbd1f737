"""Holds answers against the OpenAPI document: their route, their status and their shape must stand in it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import httpx2
import jsonschema_rs
import msgspec

from ringback.api.app import endpoints
from ringback.api.openapi import document

STREAM = "text/event-stream"


@cache
def fresh() -> dict[str, Any]:
    body: dict[str, Any] = msgspec.json.decode(document(endpoints(), version="1"))
    return body


@cache
def routes() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    found = [
        (re.compile(re.sub(r"\\?\{\w+\\?\}", "[^/]+", re.escape(path))), item)
        for path, item in fresh()["paths"].items()
    ]
    return sorted(found, key=lambda pair: "[^/]+" in pair[0].pattern)


@cache
def validator(text: bytes) -> jsonschema_rs.Draft202012Validator:
    schema = msgspec.json.decode(text)
    return jsonschema_rs.Draft202012Validator({**schema, "components": fresh()["components"]})


def operation(request: httpx2.Request) -> dict[str, Any] | None:
    """What the document says about the request; None for no such route or method."""
    path = request.url.raw_path.decode().partition("?")[0]
    item = next((item for pattern, item in routes() if pattern.fullmatch(path)), {})
    found: dict[str, Any] | None = item.get({"HEAD": "get"}.get(request.method, request.method.lower()))
    return found


async def hold(answer: httpx2.Response) -> None:
    """An httpx hook that is called with every answer of a test."""
    described, media_type = operation(answer.request), answer.headers.get("content-type", "").partition(";")[0]
    if described is None or media_type == STREAM or answer.request.method == "HEAD":
        return
    known = described["responses"].get(str(answer.status_code))
    if known is None:
        assert answer.status_code >= 400, f"{answer.request.url} answered {answer.status_code}, which is not described"
        known = described["responses"]["default"]
    if not known.get("content"):
        return
    assert media_type in known["content"] or media_type == "text/plain", (media_type, known)
    if schema := known["content"].get(media_type, {}).get("schema"):
        _check(await answer.aread(), schema)


def _check(body: bytes, schema: dict[str, Any]) -> None:
    error = next(validator(msgspec.json.encode(schema)).iter_errors(msgspec.json.decode(body)), None)
    assert error is None, f"{error.message} at {error.instance_path}: {body[:500]!r}" if error else ""
