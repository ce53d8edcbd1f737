"""How a route is declared: everything that a caller, the authorization and the OpenAPI document need to know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ringback.api.call import Handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One route.

    Attributes:
        scope: what the caller's token must allow; None: open to all, unless it is `of_attempt`.
        has_project: whether a request is about one project.
        project_in_path: the placeholder that holds the project's slug; otherwise a header or the token names it.
        is_platform: whether it is about the whole installation, which takes a platform role.
        of_attempt: whether it takes the token of an attempt that is under way, and no other.
        takes: the type of the request body, if it has one; its media type where it is not JSON.
        gives: by status, the type of the answer, its media type where it is not JSON, or None where it has no body.
        query: query parameters with their descriptions.
        headers: request headers with their descriptions.
        summary: one line for the OpenAPI document.
    """

    method: str
    path: str
    scope: str | None
    handler: Handler
    summary: str
    has_project: bool = True
    project_in_path: str | None = None
    is_platform: bool = False
    of_attempt: bool = False
    takes: Any = None
    gives: Mapping[int, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
