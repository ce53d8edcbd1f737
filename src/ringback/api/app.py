"""The HTTP door: routes, and the one way in through which every request passes.

Each route names the scope that it needs; none is needed only where the table says so. Authentication, the project, the request
id and the shape of errors are decided here and nowhere else.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from time import perf_counter

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from ringback.api import (
    answer_links,
    asking,
    async_runs,
    attaching,
    audit,
    callables,
    callbacks,
    capabilities,
    continuing,
    health,
    inbox,
    interactions,
    jobs,
    members,
    openapi,
    operations,
    projects,
    published,
    resources,
    run_batches,
    run_events,
    run_output,
    run_routes,
    scripts,
    spaces,
    tokens,
    tools,
    workers,
)
from ringback.api.call import Call
from ringback.api.meters import Meters
from ringback.api.problems import RequestError, internal_problem, problem, request_problem
from ringback.api.reply import Reply, Stream
from ringback.api.routes import Endpoint
from ringback.core import Core
from ringback.domain.errors import RingbackError, UnauthenticatedError
from ringback.domain.ids import ProjectId
from ringback.domain.runs import Run
from ringback.services.access import Principal, Project

log = logging.getLogger(__name__)
access = logging.getLogger("ringback.access")

NOBODY = Principal(token_id="", owner="", scopes=frozenset(), project_id=None)
NOWHERE = Project(project_id=ProjectId(""), org_id="", slug="", name="")
REQUEST_ID_MAX = 100


def endpoints() -> list[Endpoint]:
    """Every route of the door, the busiest first."""
    return [
        *workers.ENDPOINTS,
        *attaching.ENDPOINTS,
        *jobs.ENDPOINTS,
        *run_batches.ENDPOINTS,
        *run_routes.ENDPOINTS,
        *run_events.ENDPOINTS,
        *run_output.ENDPOINTS,
        *async_runs.ENDPOINTS,
        *scripts.ENDPOINTS,
        *published.ENDPOINTS,
        *capabilities.ENDPOINTS,
        *callbacks.ENDPOINTS,
        *interactions.ENDPOINTS,
        *asking.ENDPOINTS,
        *answer_links.ENDPOINTS,
        *continuing.ENDPOINTS,
        *tools.ENDPOINTS,
        *resources.ENDPOINTS,
        *callables.ENDPOINTS,
        *inbox.ENDPOINTS,
        *operations.ENDPOINTS,
        *spaces.ENDPOINTS,
        *projects.ENDPOINTS,
        *members.ENDPOINTS,
        *tokens.ENDPOINTS,
        *audit.ENDPOINTS,
        *health.ENDPOINTS,
    ]


def create_app(core: Core, *, version: str, mounted: Mapping[str, ASGIApp] | None = None) -> ASGIApp:
    """The ASGI application over `core`, and other applications by their path."""
    front = _Front(core, Meters(core), openapi.document(endpoints(), version=version))
    doors: dict[str, dict[str, _Door]] = {}
    for endpoint in endpoints():
        doors.setdefault(endpoint.path, {})[endpoint.method] = _Door(front, endpoint)
    methods = {path: _Methods(front, by_method) for path, by_method in doors.items()}
    return _Paths(methods, mounted or {}, _Nowhere(front))


class _Paths:
    """All paths: those without placeholders are looked up, which is quicker than trying one route after the other."""

    def __init__(self, by_path: Mapping[str, _Methods], mounted: Mapping[str, ASGIApp], nowhere: _Nowhere) -> None:
        plain = {path: methods for path, methods in by_path.items() if "{" not in path}
        self._plain: Mapping[str, ASGIApp] = {**plain, **mounted}
        routes = [Route(_pattern(path), methods) for path, methods in by_path.items() if "{" in path]
        self._others = Router(routes, redirect_slashes=False, default=nowhere)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._plain.get(scope["path"]) or self._others)(scope, receive, send)


def _pattern(path: str) -> str:
    """The path for the router: a last placeholder that is called `path` takes slashes, too."""
    return path.replace("/{path}", "/{path:path}")


@dataclass(frozen=True, slots=True)
class _Front:
    """What every door shares."""

    core: Core
    meters: Meters
    description: bytes

    async def refuse(self, error: RequestError, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that no door takes."""
        request_id = self.core.ids.new()
        self.note("-", scope, error.status, 0.0, request_id)
        await request_problem(error, request_id)(scope, receive, send)

    def note(self, route: str, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        """Count and, if asked for, log an answer. Query, headers and tokens in paths are not logged."""
        self.meters.answered(scope["method"] if route != "-" else "-", route, status, seconds)
        if access.isEnabledFor(logging.DEBUG):
            facts = {"path": _shown_path(route, scope["path"]), "status": int(status), "ms": round(seconds * 1000, 2)}
            access.debug("%s", ascii(scope["method"])[1:-1], extra={**facts, "request_id": request_id})


def _shown_path(route: str, path: str) -> str:
    """The path for the log, without the token of a one-time address or of a link."""
    return "/callbacks/***" if path.startswith("/callbacks/") else route if "{token}" in route else ascii(path)[1:-1]


class _Methods:
    """One path: its methods, HEAD wherever there is GET, and a 405 that names them for every other."""

    def __init__(self, front: _Front, doors: Mapping[str, _Door]) -> None:
        self._front = front
        self._doors = {"HEAD": doors["GET"], **doors} if "GET" in doors else dict(doors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        door = self._doors.get(scope["method"])
        if door is not None:
            await door(scope, receive, send)
            return
        methods = ", ".join(sorted(self._doors))
        status = HTTPStatus.METHOD_NOT_ALLOWED
        error = RequestError(status, "method_not_allowed", f"this path takes {methods}", {"allow": methods})
        await self._front.refuse(error, scope, receive, send)


class _Nowhere:
    """What no route takes."""

    def __init__(self, front: _Front) -> None:
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        error = RequestError(HTTPStatus.NOT_FOUND, "not_found", "no such route")
        await self._front.refuse(error, scope, receive, send)


class _Door:
    """One route as an ASGI application."""

    def __init__(self, front: _Front, endpoint: Endpoint) -> None:
        self._front, self._core, self._endpoint = front, front.core, endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        request_id = _request_id(headers.get(b"x-request-id")) or self._core.ids.new()
        reply = await self._answer(scope, receive, headers, request_id)
        reply.headers.append((b"x-request-id", request_id.encode()))
        self._front.note(self._endpoint.path, scope, reply.status, perf_counter() - began, request_id)
        if not isinstance(reply, Stream):
            await reply(scope, receive, send)
            return
        reply.end_unless(lambda: self._is_still_allowed(scope))
        with self._front.meters.streams.track_inprogress():
            await reply(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, headers: dict[bytes, bytes], request_id: str) -> Reply:
        try:
            principal, project, run = await self._admit(scope, headers)
            call = Call(
                scope=scope,
                receive=receive,
                core=self._core,
                request_id=request_id,
                headers=headers,
                principal=principal,
                project=project,
                meters=self._front.meters,
                description=self._front.description,
                run=run,
            )
            return await self._endpoint.handler(call)
        except RingbackError as error:
            return problem(error, request_id)
        except RequestError as error:
            return request_problem(error, request_id)
        except Exception:  # the outermost line: whatever it is, the caller gets a problem document
            log.exception("request %s failed", request_id)
            return internal_problem(request_id)

    async def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[Principal, Project, Run | None]:
        """Who calls and about which project, if the route's scope allows it; and which run, if its attempt calls."""
        if self._endpoint.of_attempt:
            run = await self._core.asking.admit(_bearer(scope["headers"]))
            return NOBODY, self._core.access.project(run.project_id), run
        if self._endpoint.scope is None:
            return NOBODY, NOWHERE, None
        principal = await self._core.access.authenticate(_bearer(scope["headers"]))
        return principal, self._decide(principal, self._endpoint.scope, scope, headers), None

    def _decide(self, principal: Principal, needed: str, scope: Scope, headers: Mapping[bytes, bytes]) -> Project:
        access = self._core.access
        if self._endpoint.is_platform:
            access.administer(principal, needed)
            return NOWHERE
        if not self._endpoint.has_project:
            access.allow(principal, needed)
            return NOWHERE
        return access.authorize(principal, needed, self._slug(scope, headers))

    async def _is_still_allowed(self, scope: Scope) -> bool:
        """Whether a stream that was allowed when it began may go on."""
        if self._endpoint.scope is None:
            return True
        try:
            principal = await self._core.access.identify(_bearer(scope["headers"]))
            self._decide(principal, self._endpoint.scope, scope, dict(scope["headers"]))
        except RingbackError:
            return False
        return True

    def _slug(self, scope: Scope, headers: Mapping[bytes, bytes]) -> str | None:
        """The project that the request names, in its path or in a header."""
        if self._endpoint.project_in_path is not None:
            return str(scope["path_params"][self._endpoint.project_in_path])
        slug = headers.get(b"ringback-project")
        return None if slug is None else slug.decode("latin-1")


def _bearer(headers: Sequence[tuple[bytes, bytes]]) -> str:
    """The token of the one `Authorization: Bearer …` header.

    Raises:
        UnauthenticatedError: none, two, or of another form.
    """
    given = [value for name, value in headers if name == b"authorization"]
    if len(given) != 1 or given[0][:7].lower() != b"bearer ":
        raise UnauthenticatedError
    return given[0][7:].strip().decode("latin-1")


def _request_id(given: bytes | None) -> str | None:
    """A caller's request id, if it is short and printable."""
    if given is None or not 1 <= len(given) <= REQUEST_ID_MAX or not all(33 <= byte <= 126 for byte in given):
        return None
    return given.decode("ascii")
