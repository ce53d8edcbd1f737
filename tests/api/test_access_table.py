"""Every route, with every role, scope and a foreign project, against the declared table (O68)."""

from __future__ import annotations

import re

import httpx2
import pytest

from ringback.api.app import endpoints
from ringback.api.routes import Endpoint
from ringback.services.access import SCOPES
from tests.api.access_table import ROLES, ROUTES
from tests.api.callers import user
from tests.api.door import Door

UNKNOWN = "01890000-0000-7000-8000-000000000000"
GUARDED = [each for each in endpoints() if each.scope is not None]
IN_PROJECT = [each for each in GUARDED if each.has_project]


def name_of(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


async def ask(door: Door, endpoint: Endpoint, headers: dict[str, str], slug: str) -> httpx2.Response:
    """The request without a body, about a project; whatever else stands in its path is unknown."""
    place = endpoint.project_in_path
    path = re.sub(r"\{(\w+)(:\w+)?\}", lambda found: slug if found[1] == place else UNKNOWN, endpoint.path)
    named = {} if place else {"ringback-project": slug}
    return await door.client.request(endpoint.method, path, headers={**headers, **named, "x-request-id": "r"})


def test_the_table_is_whole_and_says_what_the_routes_say() -> None:
    def reach(each: Endpoint) -> str:
        if each.of_attempt:
            return "attempt"
        if each.scope is None:
            return "everybody"
        return "installation" if each.is_platform else "project" if each.has_project else "caller"

    assert {name_of(each): (each.scope, reach(each)) for each in endpoints()} == dict(ROUTES)


async def test_an_attempts_routes_take_no_other_token(door: Door) -> None:
    """Not an owner's, not a worker's, not one of a run's capability tokens; and none at all."""
    owner = await user(door, "someone", {"default": "owner"})
    run_id = await door.start()
    made = await door.client.post(f"/v1/runs/{run_id}/capability-tokens", json={})
    bearer = {"authorization": f"Bearer {made.json()['token']}"}
    for endpoint in endpoints():
        if endpoint.of_attempt:
            for headers in (owner, bearer, {"authorization": ""}, {"authorization": "Bearer rbr_x.1.y"}):
                answer = await ask(door, endpoint, headers, "default")
                assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated"), name_of(endpoint)


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_opens_what_the_table_says(door: Door, role: str) -> None:
    """With a token of all scopes the role alone decides; installation routes are closed to every role."""
    headers = await user(door, "someone", {"default": role})
    door.client.headers.pop("ringback-project")
    for endpoint in GUARDED:
        scope, reach = ROUTES[name_of(endpoint)]
        answer = await ask(door, endpoint, headers, "default")
        is_open = reach == "caller" or (reach == "project" and scope in ROLES[role])
        assert (answer.status_code == 403) != is_open, (name_of(endpoint), answer.text)
        assert answer.status_code not in (401, 500), (name_of(endpoint), answer.text)


async def test_a_token_narrows_its_users_role(door: Door) -> None:
    """An owner's token without a scope opens no route that needs it."""
    for scope in sorted(SCOPES):
        headers = await user(door, f"without-{scope.replace(':', '-')}", {"default": "owner"}, scopes=SCOPES - {scope})
        for endpoint in GUARDED:
            if endpoint.scope == scope:
                answer = await ask(door, endpoint, headers, "default")
                assert answer.status_code == 403, name_of(endpoint)


async def test_a_foreign_project_answers_like_none(door: Door) -> None:
    """Same status and same body but for the name that was asked for, on every route, for an owner of another project."""
    headers = await user(door, "someone", {"default": "owner"})
    for endpoint in IN_PROJECT:
        foreign, none = [await ask(door, endpoint, headers, slug) for slug in ("other", "ntohr")]
        assert (foreign.status_code, none.status_code) == (404, 404), name_of(endpoint)
        assert foreign.text.replace("other", "SLUG") == none.text.replace("ntohr", "SLUG"), name_of(endpoint)
        assert sorted(foreign.headers) == sorted(none.headers)


async def test_a_platform_role_is_no_membership(door: Door) -> None:
    headers = await user(door, "operator", is_operator=True)
    for endpoint in GUARDED:
        answer = await ask(door, endpoint, headers, "default")
        match ROUTES[name_of(endpoint)][1]:
            case "project":
                assert answer.status_code == 404, name_of(endpoint)
            case _:
                assert answer.status_code not in (401, 403, 500), (name_of(endpoint), answer.text)
