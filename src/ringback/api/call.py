"""One request on its way through a door: who asks, about which project, and what was sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope

from ringback.api.meters import Meters
from ringback.api.problems import RequestError
from ringback.api.reply import Reply
from ringback.core import Core
from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.json_values import escape, text_flaw
from ringback.domain.runs import Run
from ringback.services.access import Principal, Project

T = TypeVar("T")
BODY_MAX = 1 << 20


@dataclass(slots=True, kw_only=True)
class Call:
    """What a handler gets. `principal` and `project` are set for every route that asks for a scope.

    Attributes:
        meters: the metrics of this process.
        description: the OpenAPI document.
        run: the run whose attempt calls, for a route that takes the token of one.
    """

    scope: Scope
    receive: Receive
    core: Core
    request_id: str
    headers: dict[bytes, bytes]
    principal: Principal
    project: Project
    meters: Meters
    description: bytes
    run: Run | None = None

    @property
    def attempt(self) -> Run:
        """The run whose attempt calls."""
        assert self.run is not None
        return self.run

    @property
    def path(self) -> Mapping[str, str]:
        """Values of the path's placeholders."""
        parameters: Mapping[str, str] = self.scope["path_params"]
        return parameters

    def header(self, name: str) -> str | None:
        value = self.headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    def query(self) -> dict[str, str]:
        """Query parameters; of one that is given twice, the last."""
        return dict(self._parameters())

    def listed(self, name: str) -> list[str]:
        """The values of a query parameter that may be repeated or hold several, separated by commas."""
        return [
            part.strip() for key, text in self._parameters() if key == name for part in text.split(",") if part.strip()
        ]

    def _parameters(self) -> list[tuple[str, str]]:
        raw: bytes = self.scope["query_string"]
        return parse_qsl(raw.decode("latin-1"), keep_blank_values=True) if raw else []

    async def body(self, limit: int = BODY_MAX) -> bytes:
        """The whole body.

        Raises:
            RequestError: larger than `limit` bytes, or the caller went away.
        """
        parts: list[bytes] = []
        size, is_more = 0, True
        while is_more:
            message = await self.receive()
            if message["type"] != "http.request":
                raise RequestError(HTTPStatus.BAD_REQUEST, "disconnected", "the caller went away")
            part: bytes = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", f"at most {limit} bytes of body")
            parts.append(part)
            is_more = message.get("more_body", False)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def json_object(self) -> dict[str, Any]:
        """The body as a JSON object."""
        value = decode(await self.body() or b"{}")
        if not isinstance(value, dict):
            raise InvalidInputError(Flaw("", "the body must be a JSON object"))
        return value

    async def read(self, kind: type[T], limit: int = BODY_MAX) -> T:
        """The body as `kind`.

        Raises:
            InvalidInputError: names the member that is wrong.
        """
        return shaped(await self.body(limit) or b"{}", kind)


Handler: TypeAlias = Callable[[Call], Awaitable[Reply]]


def decode(body: bytes) -> Any:
    """`body` as JSON.

    Raises:
        RequestError: it is no JSON, or holds text that is no Unicode.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, "malformed_json", f"the body is not JSON: {error}") from None


def shaped(body: bytes, kind: type[T]) -> T:
    """`body` as `kind`; a wrong or unknown member is named by its JSON pointer."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise InvalidInputError(flaw_of(str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, "malformed_json", f"the body is not JSON: {error}") from None


def flaw_of(message: str) -> Flaw:
    """A msgspec message (``Expected `int`, got `str` - at `$.a[0].b` ``) as a flaw with a JSON pointer."""
    detail, _, path = message.partition(" - at `")
    if "unknown field" in detail:
        name = detail.rsplit("`", 2)[-2]
        return Flaw(f"{_pointer_of(path)}/{escape(name)}", "unknown member")
    return Flaw(_pointer_of(path), detail)


def _pointer_of(path: str) -> str:
    bare = path.rstrip("`").removeprefix("$")
    return bare.replace("[...]", "").replace(".", "/").replace("[", "/").replace("]", "")


def whole_number(text: str | None, name: str, *, least: int, most: int, default: int) -> int:
    """A query parameter that is a whole number; beyond `most` it counts as `most`.

    Raises:
        InvalidInputError: not a whole number, or below `least`.
    """
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
        raise InvalidInputError(Flaw(f"/{name}", f"must be a whole number of at least {least}"))
    return min(int(text), most)


def text_member(text: str | None, pointer: str, most: int) -> str | None:
    """A free text of the caller.

    Raises:
        InvalidInputError: longer than `most` characters, or text that no database keeps faithfully.
    """
    flaw = (
        None if text is None else text_flaw(text) or (f"has more than {most} characters" if len(text) > most else None)
    )
    if flaw is not None:
        raise InvalidInputError(Flaw(pointer, flaw))
    return text


def is_true(text: str | None) -> bool:
    return text is not None and text.lower() in ("", "1", "true", "yes")


def wait_of(prefer: str | None, *, most: int = 30) -> int | None:
    """The seconds in `Prefer: wait=N` (RFC 7240), at most `most`; None when it isn't there or no number."""
    for part in (prefer or "").split(","):
        name, _, value = part.strip().partition("=")
        if name.strip().lower() == "wait" and value.strip().strip('"').isdigit():
            return min(int(value.strip().strip('"')[:9]), most)
    return None
