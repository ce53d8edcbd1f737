"""What is wrong with the `http` part of a tool's profile, said when the tool is defined and not when the first run fails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ringback.domain.errors import Flaw
from ringback.domain.http_request import GIVEN, WITH_BODY, placed
from ringback.domain.http_styles import STYLES
from ringback.domain.http_template import HttpTemplateError, Kind, origin_of, pieces_of, places_in
from ringback.domain.json_values import escape

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
CANCEL_METHODS: Final = ("DELETE", "POST", "PUT", "PATCH", "none")
MIB: Final = 1024 * 1024
HTTP_MEMBERS: Final = (
    "method",
    "url",
    "query",
    "headers",
    "body",
    "form",
    "idempotencyHeader",
    "timeoutS",
    "answerBytes",
    "origins",
    "follow",
    "callback",
)
FOLLOW_MEMBERS: Final = (
    "style",
    "on",
    "headers",
    "location",
    "statusUrl",
    "state",
    "running",
    "done",
    "failed",
    "cancelled",
    "progress",
    "total",
    "message",
    "error",
    "result",
    "resultLocation",
    "resultUrl",
    "cancelMethod",
    "cancelUrl",
    "intervalS",
    "intervalMaxS",
    "patienceS",
)
CALLBACK_MEMBERS: Final = ("secret",)
_FIELD: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_POINTER: Final = re.compile(r"(/[^{}\x00-\x1f]*)?")
_START: Final[frozenset[Kind]] = frozenset({"input"})
_HEADER: Final[frozenset[Kind]] = frozenset({"input", "secret"})
_LINK: Final[frozenset[Kind]] = frozenset({"input", "answer", "path", "place"})
_PLACES: Final = ("url", "origin", "status")
_REFUSED: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "content-type"})
_SECRET_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"})
_HEADERS_ONLY: Final = "a secret stands in headers only, because addresses and bodies are logged and echoed"


def http_flaws(profile: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Flaw]:
    """Every rule that `profile.http` breaks, by pointers below the profile.

    Args:
        schema: of the arguments.
    """
    http = profile.get("http")
    if not isinstance(http, Mapping):
        yield Flaw("/http", "an http tool needs the request that it makes: at least its url")
        return
    yield from _unknown(http, HTTP_MEMBERS, "/http")
    found = [*_request_flaws(http), *_limits_flaws(http), *_follow_flaws(http), *_callback_flaws(http)]
    yield from found
    if not found:
        yield from _place_flaws(http, schema)
        yield from _secret_flaws(http, profile)


def secrets_in(http: Mapping[str, Any]) -> list[str]:
    """The secrets that the headers name."""
    headers = http.get("headers")
    try:
        return list(dict.fromkeys(place.name for place in places_in(headers) if place.kind == "secret"))
    except HttpTemplateError:
        return []


def _request_flaws(http: Mapping[str, Any]) -> Iterator[Flaw]:
    method = http.get("method", "POST")
    if method not in METHODS:
        yield Flaw("/http/method", f"must be one of {', '.join(METHODS)}")
    url = http.get("url")
    if not isinstance(url, str) or origin_of(url) is None or "{" in url.split("/", 3)[2]:
        yield Flaw("/http/url", "must be an http or https URL whose host holds no placeholder, user or password")
    elif "#" in url:
        yield Flaw("/http/url", "a fragment is never sent")
    else:
        yield from _text_flaws(url, "/http/url", _START)
    for part, kinds in (("query", _START), ("form", _START), ("headers", _HEADER)):
        yield from _table_flaws(http.get(part), f"/http/{part}", kinds, is_text=part == "headers")
    for part in ("body", "form"):
        if part in http and method not in WITH_BODY:
            yield Flaw(f"/http/{part}", f"{method} carries no body")
    if "body" in http and "form" in http:
        yield Flaw("/http/form", "either a body or a form")
    if "body" in http:
        yield from _json_flaws(http["body"], "/http/body")
    header = http.get("idempotencyHeader", "")
    if not isinstance(header, str) or (header and not _FIELD.fullmatch(header)):
        yield Flaw("/http/idempotencyHeader", 'must be the name of a header, or "" for none')


def _table_flaws(table: Any, pointer: str, kinds: frozenset[Kind], *, is_text: bool) -> Iterator[Flaw]:
    if table is None:
        return
    if not isinstance(table, Mapping):
        yield Flaw(pointer, "must be an object")
        return
    for name, template in table.items():
        where = f"{pointer}/{escape(str(name))}"
        if is_text and (not _FIELD.fullmatch(str(name)) or str(name).lower() in _REFUSED):
            yield Flaw(where, "not a header that a tool may set")
        if is_text and str(name).lower() in _SECRET_HEADERS and "{" not in str(template):
            yield Flaw(where, "a secret is never written down: name a variable of the worker, {secret:NAME}")
        if isinstance(template, str):
            yield from _text_flaws(template, where, kinds)
        elif is_text or not isinstance(template, int | float | list):
            yield Flaw(where, "must be a string")
        else:
            yield from _json_flaws(template, where)


def _text_flaws(text: str, pointer: str, kinds: frozenset[Kind]) -> Iterator[Flaw]:
    try:
        pieces = pieces_of(text)
    except HttpTemplateError as error:
        yield Flaw(pointer, error.rule)
        return
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            continue
        if piece.kind not in kinds:
            yield Flaw(pointer, _HEADERS_ONLY if piece.kind == "secret" else f"{piece.name!r} has no meaning here")
        elif piece.kind == "place" and (piece.name not in _PLACES or index):
            yield Flaw(pointer, f"{{@{piece.name}}}: a link may begin with {{@url}}, {{@origin}} or {{@status}}")


def _json_flaws(value: Any, pointer: str) -> Iterator[Flaw]:
    if isinstance(value, str):
        yield from _text_flaws(value, pointer, _START)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _json_flaws(item, f"{pointer}/{escape(str(name))}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _json_flaws(item, f"{pointer}/{index}")


def _limits_flaws(http: Mapping[str, Any]) -> Iterator[Flaw]:
    yield from _number(http, "timeoutS", 0.1, 600, "/http")
    yield from _number(http, "answerBytes", 1, 8 * MIB, "/http")
    origins = http.get("origins", [])
    if not isinstance(origins, list) or not all(isinstance(each, str) and _is_origin(each) for each in origins):
        yield Flaw("/http/origins", "must be a list of origins, such as https://files.example.com")


def _is_origin(text: str) -> bool:
    return origin_of(text) is not None and not re.search(r"[/?#{}]", text.split("//", 1)[-1].rstrip("/"))


def _number(part: Mapping[str, Any], name: str, low: float, high: float, pointer: str) -> Iterator[Flaw]:
    value = part.get(name, low)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        yield Flaw(f"{pointer}/{name}", f"must be a number from {low:g} to {high:g}")


def _follow_flaws(http: Mapping[str, Any]) -> Iterator[Flaw]:
    follow = http.get("follow", {})
    if not isinstance(follow, Mapping):
        yield Flaw("/http/follow", "must be an object")
        return
    at = "/http/follow"
    yield from _unknown(follow, FOLLOW_MEMBERS, at)
    if follow.get("style", "auto") not in STYLES:
        yield Flaw(f"{at}/style", f"must be one of {', '.join(STYLES)}")
    if follow.get("cancelMethod", "none") not in CANCEL_METHODS:
        yield Flaw(f"{at}/cancelMethod", f"must be one of {', '.join(CANCEL_METHODS)}")
    codes = follow.get("on", [202])
    if not isinstance(codes, list) or not all(_is_success(each) for each in codes):
        yield Flaw(f"{at}/on", "must be a list of statuses from 200 to 299")
    yield from _reading_flaws(follow, at)
    for name in ("statusUrl", "resultUrl", "cancelUrl"):
        if name in follow:
            yield from _link_flaws(follow[name], f"{at}/{name}")


def _reading_flaws(follow: Mapping[str, Any], at: str) -> Iterator[Flaw]:
    for name in ("state", "location", "progress", "total", "message", "error", "result", "resultLocation"):
        if name in follow and not _is_pointers(follow[name]):
            yield Flaw(f"{at}/{name}", "must be a JSON pointer such as /job/status, or a list of them")
    if "headers" in follow and not _all_match(follow["headers"], _FIELD):
        yield Flaw(f"{at}/headers", "must be the name of a header, or a list of them")
    for name in ("running", "done", "failed", "cancelled"):
        if name in follow and not _is_values(follow[name]):
            yield Flaw(f"{at}/{name}", "must be a list of texts, numbers or booleans")
    for name, low, high in (("intervalS", 0.05, 3600), ("intervalMaxS", 0.05, 86_400), ("patienceS", 0, 604_800)):
        if name in follow:
            yield from _number(follow, name, low, high, at)


def _is_success(code: Any) -> bool:
    return isinstance(code, int) and not isinstance(code, bool) and 200 <= code <= 299


def _is_values(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str | int | float) for each in value)


def _is_pointers(value: Any) -> bool:
    return _all_match(value, _POINTER)


def _all_match(value: Any, pattern: re.Pattern[str]) -> bool:
    several = value if isinstance(value, list) else [value]
    return all(isinstance(each, str) and pattern.fullmatch(each) for each in several)


def _link_flaws(link: Any, pointer: str) -> Iterator[Flaw]:
    if not isinstance(link, str) or not link:
        yield Flaw(pointer, "must be a URL, or a path from the same origin")
        return
    is_led = link.startswith(("{@", "/"))
    if link.startswith("//") or not (is_led or (origin_of(link) and "{" not in link.split("/", 3)[2])):
        yield Flaw(pointer, "must begin with an http(s) origin, with a single / or with {@url}, {@origin} or {@status}")
        return
    yield from _text_flaws(link, pointer, _LINK)


def _callback_flaws(http: Mapping[str, Any]) -> Iterator[Flaw]:
    callback = http.get("callback")
    if callback is None or isinstance(callback, bool):
        return
    if not isinstance(callback, Mapping):
        yield Flaw("/http/callback", "must be true, or an object")
        return
    yield from _unknown(callback, CALLBACK_MEMBERS, "/http/callback")
    secret = callback.get("secret", "X")
    if not isinstance(secret, str) or not _VARIABLE.fullmatch(secret):
        yield Flaw("/http/callback/secret", "must be the name of a variable of the server")


def _place_flaws(http: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Flaw]:
    """Places without an input, and inputs without a place."""
    properties = schema.get("properties")
    inputs = set(properties) if isinstance(properties, Mapping) else set()
    named = placed(http)
    for name in sorted(inputs & set(GIVEN)):
        yield Flaw("/http", f"an input can't be called {name}: the runtime gives it")
    for name in sorted(named - inputs - set(GIVEN)):
        yield Flaw("/http", f"{{{name}}} is no input of the tool")
    if "callback_url" in named and not http.get("callback"):
        yield Flaw("/http/callback", "{callback_url} is used, so callback must be set")
    if http.get("callback") and "callback_url" not in named:
        yield Flaw("/http/callback", "{callback_url} has no place in the request, so nobody could call back")
    is_implicit = http.get("method", "POST") in WITH_BODY and "body" not in http and "form" not in http
    if not is_implicit:
        for name in sorted(inputs - named - set(GIVEN)):
            yield Flaw("/http", f"the input {name} has no place in the request")


def _secret_flaws(http: Mapping[str, Any], profile: Mapping[str, Any]) -> Iterator[Flaw]:
    listed = profile.get("secrets") or ()
    for name in secrets_in(http):
        if name not in listed:
            yield Flaw("/secrets", f"must name {name}, which a header uses")


def _unknown(part: Mapping[str, Any], known: tuple[str, ...], pointer: str) -> Iterator[Flaw]:
    for member in part:
        if member not in known:
            yield Flaw(f"{pointer}/{escape(str(member))}", f"unknown member; known are {', '.join(known)}")
