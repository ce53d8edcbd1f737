"""Tokens: made, listed, ended. A token stands in one answer only, the one that makes it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ringback.api.access_shapes import NewToken, Token, TokenList, TokenRequest
from ringback.api.call import Call
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.services.tokens import Wanted
from ringback.views.access import token

_NO_STORE = {"cache-control": "no-store"}


async def listed(call: Call) -> Reply:
    """The caller's tokens, newest first, and those bound to projects that the caller administers."""
    return reply_json({"items": [_view(call, row) for row in await call.core.tokens.listed(call.principal)]})


async def make(call: Call) -> Reply:
    """A new token, shown this once. It allows no more than the caller's own; for somebody else it is bound to a project."""
    asked = await call.read(TokenRequest)
    wanted = Wanted(
        name=asked.name,
        scopes=tuple(asked.scopes),
        project=asked.project,
        user=asked.user,
        expires_at=asked.expires_at,
        is_worker=asked.worker,
    )
    row, secret = await call.core.tokens.create(call.principal, wanted)
    return reply_json({**_view(call, row), "token": secret}, HTTPStatus.CREATED, _NO_STORE)


async def revoke(call: Call) -> Reply:
    """End a token: the next request with it is refused. A repetition changes nothing."""
    return reply_json(_view(call, await call.core.tokens.revoke(call.principal, call.path["token_id"])))


def _view(call: Call, row: Mapping[str, Any]) -> dict[str, Any]:
    project_id = row["project_id"]
    return token(row, None if project_id is None else call.core.access.project(project_id).slug)


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/tokens",
        scope="access:admin",
        has_project=False,
        handler=listed,
        summary="List tokens",
        gives={200: TokenList},
    ),
    Endpoint(
        method="POST",
        path="/v1/tokens",
        scope="access:admin",
        has_project=False,
        handler=make,
        summary="Make a token",
        takes=TokenRequest,
        gives={201: NewToken},
    ),
    Endpoint(
        method="DELETE",
        path="/v1/tokens/{token_id}",
        scope="access:admin",
        has_project=False,
        handler=revoke,
        summary="Revoke a token",
        gives={200: Token},
    ),
]
