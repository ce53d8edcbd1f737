"""The OpenAPI 3.1 document of the door, written from its table of routes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from ringback.api.openapi_links import links_from
from ringback.api.problems import MEDIA_TYPE as PROBLEM
from ringback.api.reply import JSON
from ringback.api.routes import Endpoint
from ringback.api.shapes import Problem

ABOUT = """Start work, hang up, be rung back.

Jobs (`/jobs`, snake_case) are the short surface, runs (`/v1/runs`, camelCase) the whole one. Every error is a problem
document (RFC 9457); `code` never changes its meaning. Absent facts are absent, never null."""
ATTEMPT = "The token of an attempt that is under way: RINGBACK_RUN_TOKEN in the environment of its programs."
_REF = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)\}")
Schemas = Mapping[Any, Mapping[str, Any]]


def document(endpoints: Sequence[Endpoint], *, version: str) -> bytes:
    """The document as JSON text, the same bytes for the same table."""
    kinds = [*_kinds(endpoints), Problem]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    by_kind: Schemas = dict(zip(kinds, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in sorted(endpoints, key=lambda endpoint: endpoint.path):
        operation = _operation(each, by_kind)
        for status, kind in each.gives.items():
            if links := links_from(each, kind, endpoints, _id):
                operation["responses"][str(int(status))]["links"] = links
        paths.setdefault(each.path, {})[each.method.lower()] = operation
    body = {
        "openapi": "3.1.0",
        "info": {"title": "Ringback", "version": version, "description": ABOUT},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "attempt": {"type": "http", "scheme": "bearer", "description": ATTEMPT},
            },
        },
    }
    return msgspec.json.format(msgspec.json.encode(body, order="sorted"), indent=2) + b"\n"


def _kinds(endpoints: Sequence[Endpoint]) -> list[Any]:
    found: dict[Any, None] = {}
    for each in endpoints:
        for kind in (each.takes, *each.gives.values()):
            if kind is not None and not isinstance(kind, str):
                found[kind] = None
    return list(found)


def _operation(endpoint: Endpoint, schemas: Schemas) -> dict[str, Any]:
    body: dict[str, Any] = {
        "operationId": _id(endpoint),
        "tags": [_where(endpoint)],
        "summary": endpoint.summary,
        "description": (endpoint.handler.__doc__ or "").strip(),
        "responses": {str(int(status)): _answer(kind, status, schemas) for status, kind in endpoint.gives.items()},
    }
    body["responses"]["default"] = {
        "description": "A problem",
        "content": {PROBLEM: {"schema": schemas[Problem]}},
    }
    if parameters := _parameters(endpoint):
        body["parameters"] = parameters
    if endpoint.takes is not None:
        body["requestBody"] = {"content": _taken(endpoint.takes, schemas)}
    if endpoint.of_attempt:
        body["security"] = [{"attempt": []}]
    elif endpoint.scope is None:
        body["security"] = []
    else:
        body["x-scope"] = endpoint.scope
    return body


def _where(endpoint: Endpoint) -> str:
    return endpoint.handler.__module__.rpartition(".")[2]


def _id(endpoint: Endpoint) -> str:
    return "_".join((_where(endpoint), endpoint.handler.__name__, *_which(endpoint)))


def _taken(kind: Any, schemas: Schemas) -> dict[str, Any]:
    if isinstance(kind, str):
        return {kind: {"schema": {"type": "object", "additionalProperties": {"type": "string"}}}}
    return {JSON: {"schema": schemas[kind]}}


def _which(endpoint: Endpoint) -> tuple[str, ...]:
    """What tells operations apart that one handler answers: a published endpoint takes every method."""
    return (endpoint.method.lower(),) if endpoint.path.startswith("/x/") else ()


def _answer(kind: Any, status: int, schemas: Schemas) -> dict[str, Any]:
    body: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if isinstance(kind, str):
        body["content"] = {kind: {}}
    elif kind is not None:
        body["content"] = {JSON: {"schema": schemas[kind]}}
    return body


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(endpoint.path)
    ]
    for place, described in (("query", endpoint.query), ("header", endpoint.headers)):
        found += [
            {"name": name, "in": place, "description": text, "schema": {"type": "string"}}
            for name, text in described.items()
        ]
    if endpoint.scope is not None and endpoint.has_project and endpoint.project_in_path is None:
        text = "The project's slug; not needed where the token or the installation has only one."
        found.append({"name": "Ringback-Project", "in": "header", "description": text, "schema": {"type": "string"}})
    return found
