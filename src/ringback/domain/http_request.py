"""From an `http` profile and a caller's arguments to the request that is sent, and the origins that it may lead to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ringback.domain.http_template import (
    MISSING,
    HttpTemplateError,
    Values,
    encoded_pairs,
    fill_headers,
    fill_json,
    fill_link,
    fill_pairs,
    origin_of,
    places_in,
)

WITH_BODY: Final = ("POST", "PUT", "PATCH")
IDEMPOTENT: Final = ("GET", "PUT", "DELETE")
"""Methods that RFC 9110 calls idempotent: sent again, they do no more than once."""
GIVEN: Final = ("callback_url", "idempotency_key")
"""Places of templates that the runtime fills; inputs can't have these names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """What is sent. `headers` go to origins of the profile's own only."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    content_type: str | None = None


def inputs_of(profile: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, with defaults for those that are absent."""
    return {
        **(profile.get("defaults") or {}),
        **{name: value for name, value in arguments.items() if value is not None},
    }


def build(http: Mapping[str, Any], values: Values) -> HttpRequest:
    """The request that starts the work.

    Raises:
        HttpTemplateError: a value doesn't fit its place; `pointer` names the argument.
    """
    method = http.get("method", "POST")
    url = fill_link(http["url"], values)
    if pairs := fill_pairs(http.get("query") or {}, values):
        url += ("&" if "?" in url else "?") + encoded_pairs(pairs)
    body, content_type = _body(http, method, values)
    headers = fill_headers(http.get("headers") or {}, values)
    return HttpRequest(method=method, url=url, headers=headers, body=body, content_type=content_type)


def _body(http: Mapping[str, Any], method: str, values: Values) -> tuple[bytes | None, str | None]:
    if method not in WITH_BODY:
        return None, None
    if "form" in http:
        return encoded_pairs(fill_pairs(http["form"], values)).encode(), "application/x-www-form-urlencoded"
    if "body" in http:
        value = fill_json(http["body"], values)
    else:
        rest = {name: value for name, value in values.inputs.items() if name not in placed(http) and name not in GIVEN}
        value = {name: each for name, each in rest.items() if each is not None}
    if value is MISSING:
        return None, None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace"), "application/json"


def placed(http: Mapping[str, Any]) -> frozenset[str]:
    """The inputs that have a place of their own in the templates."""
    parts = [http.get(part) for part in ("url", "query", "headers", "body", "form")]
    follow = http.get("follow") or {}
    parts += [follow.get(part) for part in ("statusUrl", "resultUrl", "cancelUrl")]
    return frozenset(place.name for place in places_in(parts) if place.kind == "input")


def check_arguments(profile: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that don't fit their places, before a run is made of them.

    Raises:
        HttpTemplateError: `pointer` names the argument.
    """
    http = profile["http"]
    given = dict.fromkeys(GIVEN, "x")
    secrets = {place.name: "x" for place in places_in(http.get("headers") or {}) if place.kind == "secret"}
    build(http, Values(inputs={**inputs_of(profile, arguments), **given}, secrets=secrets))


def own_origins(http: Mapping[str, Any]) -> frozenset[str]:
    """The origins that the profile itself names: they get its headers."""
    follow = http.get("follow") or {}
    links = (http["url"], *(follow.get(part) or "" for part in ("statusUrl", "resultUrl", "cancelUrl")))
    return frozenset(origin for link in links if (origin := origin_of(link)) is not None)


def other_origins(http: Mapping[str, Any]) -> frozenset[str]:
    """Further origins to which links may lead; they get no header of the profile."""
    return frozenset(origin for each in http.get("origins") or () if (origin := origin_of(each)) is not None)


def link_of(template: str, values: Values, where: str) -> str:
    """A link of `follow`, filled.

    Raises:
        HttpTemplateError: the answer lacks what it needs.
    """
    try:
        return fill_link(template, values)
    except HttpTemplateError as error:
        raise HttpTemplateError(where, f"can't be made: {error}") from None
