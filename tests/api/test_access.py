"""Who gets in, and what a stranger sees: O68 and O69, over every route of the table."""

from __future__ import annotations

import re
import sqlite3

from ringback.api.app import endpoints
from ringback.api.routes import Endpoint
from ringback.services.access import SCOPES
from tests.api.door import OTHER_TOKEN, TOKEN, Door

GUARDED = [each for each in endpoints() if each.scope is not None]
UNKNOWN = "01890000-0000-7000-8000-000000000000"
EXPIRED, REVOKED = "rbp_" + "e" * 43, "rbp_" + "r" * 43
CREDENTIALS: dict[str, list[tuple[str, str]]] = {
    "none": [],
    "no token": [("authorization", "Bearer")],
    "blanks": [("authorization", "Bearer    ")],
    "another scheme": [("authorization", f"Basic {TOKEN}")],
    "no scheme": [("authorization", TOKEN)],
    "unknown": [("authorization", "Bearer rbp_" + "x" * 43)],
    "another prefix": [("authorization", "Bearer ghp_" + "x" * 43)],
    "long": [("authorization", "Bearer rbp_" + "x" * 5_000)],
    "not ascii": [("authorization", "Bearer rbp_\xff\xfe")],
    "expired": [("authorization", f"Bearer {EXPIRED}")],
    "revoked": [("authorization", f"Bearer {REVOKED}")],
    "twice": [("authorization", f"Bearer {TOKEN}"), ("authorization", f"Bearer {TOKEN}")],
}


def path_of(endpoint: Endpoint, name: str = UNKNOWN) -> str:
    return re.sub(r"\{\w+\}", name, endpoint.path)


async def expire_and_revoke(door: Door) -> None:
    for token in (EXPIRED, REVOKED):
        await door.core.access.remember(token, owner="old", scopes=SCOPES)
    for token, column in ((EXPIRED, "expires_at"), (REVOKED, "revoked_at")):
        with sqlite3.connect(door.path) as ledger:
            digest = door.core.access.digest(token)
            ledger.execute(f"UPDATE tokens SET {column} = 1 WHERE digest = ?", [digest])
        ledger.close()


async def test_every_credential_that_is_not_valid_is_refused_alike(door: Door) -> None:
    """O69: 401 on every route for each of them, and a token in the query is none."""
    await expire_and_revoke(door)
    answers = set()
    for endpoint in GUARDED:
        for name, headers in CREDENTIALS.items():
            status, *answer = await door.raw(endpoint.method, path_of(endpoint), [*headers, ("x-request-id", "r")])
            assert status == 401, (name, endpoint.path, answer)
            answers.add(tuple(answer))
        for name in ("token", "access_token"):
            status, *_ = await door.raw(endpoint.method, f"{path_of(endpoint)}?{name}={TOKEN}")
            assert status == 401
    ((head, _),) = answers
    assert b"www-authenticate: Bearer" in head


async def test_each_scope_opens_its_routes_only(door: Door) -> None:
    """403 without the scope, whatever the route is about, and it names the scope."""
    for scope in SCOPES:
        token = f"rbp_without_{scope}"
        await door.core.access.remember(token, owner="some", scopes=SCOPES - {scope})
        door.client.headers["authorization"] = f"Bearer {token}"
        for endpoint in GUARDED:
            if endpoint.scope == scope:
                answer = await door.client.request(endpoint.method, path_of(endpoint))
                assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), endpoint.path
                assert scope in answer.json()["detail"]


RUN_ROUTES = [each for each in GUARDED if "{run_id}" in each.path or "{job_id}" in each.path]


async def test_a_foreign_run_answers_like_one_that_does_not_exist(door: Door) -> None:
    """O68: on every route, same status and same body but for the id that was asked for; the run is untouched."""
    run_id = await door.start({"secret": "of-default"})
    before = await door.run(run_id)
    stranger = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other", "x-request-id": "r"}
    for endpoint in RUN_ROUTES:
        texts = []
        for name in (run_id, UNKNOWN):
            answer = await door.client.request(endpoint.method, path_of(endpoint, name), headers=stranger)
            assert answer.status_code == 404, endpoint.path
            texts.append(answer.text.replace(name, "ID"))
        assert texts[0] == texts[1], endpoint.path
        assert "of-default" not in texts[0]
    assert await door.run(run_id) == before


async def test_lists_of_another_project_show_nothing(door: Door) -> None:
    """O68: runs, jobs, events, queues, tools."""
    run_id = await door.start()
    stranger = {"authorization": f"Bearer {OTHER_TOKEN}", "ringback-project": "other"}
    for path in ("/v1/runs", "/jobs", "/v1/events", "/v1/queues"):
        answer = await door.client.get(path, headers=stranger)
        assert run_id not in answer.text
        assert [] in answer.json().values()


async def test_malformed_ids_are_unknown(door: Door) -> None:
    for name in ("nix", "..%2Fother", UNKNOWN + "0", "job_", "job_" + "v" * 26, "%0A"):
        for path in ("/jobs", "/v1/runs"):
            answer = await door.client.get(f"{path}/{name}")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_projects_are_named_by_header_or_token(door: Door) -> None:
    """A bound token needs no header and reaches no other project; a free one must say which."""
    bound = {"authorization": f"Bearer {OTHER_TOKEN}"}
    del door.client.headers["ringback-project"]
    assert (await door.client.get("/jobs", headers=bound)).status_code == 200
    for slug in ("default", "nix"):
        answer = await door.client.get("/jobs", headers={**bound, "ringback-project": slug})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    answer = await door.client.get("/jobs")
    assert (answer.status_code, answer.json()["code"]) == (400, "project_required")
    slugs = [each["slug"] for each in (await door.get("/v1/projects"))["items"]]
    assert slugs == ["default", "other"]
    own = (await door.client.get("/v1/projects", headers=bound)).json()["items"]
    assert own == [{"projectId": "other", "orgId": "local", "slug": "other", "name": "other"}]
