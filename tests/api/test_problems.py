"""Requests that are wrong as such: each gets a problem document, and none a 500."""

from __future__ import annotations

import pytest

from ringback.api.problems import STATUS_OF, internal_problem, problem
from ringback.domain import errors
from tests.api.door import Door

MEMBERS = ("code", "title", "status", "detail", "retryable", "requestId", "type")


def _below(kind: type[errors.RingbackError]) -> list[type[errors.RingbackError]]:
    return [each for sub in kind.__subclasses__() for each in (sub, *_below(sub))]


def test_every_error_has_a_status() -> None:
    kinds = [kind for kind in _below(errors.RingbackError) if kind.__module__ == errors.__name__]
    assert set(kinds) == set(STATUS_OF)


def test_retryable_errors_say_when() -> None:
    reply = problem(errors.StoreUnavailableError(), "r")
    assert reply.status == 503
    assert (b"retry-after", b"1") in reply.headers
    assert b'"retryable":true' in reply.body
    assert internal_problem("r").status == 500


ROUTES = [
    ("GET", "/nix", 404, "not_found"),
    ("GET", "/", 404, "not_found"),
    ("GET", "/jobs/", 404, "not_found"),
    ("GET", "/v1/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 404, "not_found"),
    ("GET", "/jobs/%00", 404, "not_found"),
    ("GET", "/jobs/%ff%fe", 404, "not_found"),
    ("PATCH", "/jobs", 405, "method_not_allowed"),
    ("DELETE", "/v1/runs", 405, "method_not_allowed"),
]


async def test_unknown_routes_and_methods(door: Door) -> None:
    for method, path, status, code in ROUTES:
        answer = await door.client.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (status, code), path
        assert answer.headers["content-type"] == "application/problem+json"
        assert all(name in answer.json() for name in MEMBERS)
        if status == 405:
            assert "GET, HEAD" in answer.headers["allow"]


BODIES = {
    "no json": b"{",
    "not an object": b"[]",
    "null": b"null",
    "text": b"hello",
    "not utf-8": b'{"tool":"\xff"}',
    "deep": b'{"tool":"echo","arguments":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    "deep objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "nan": b'{"tool":"echo","arguments":{"a":NaN}}',
    "infinite": b'{"tool":"echo","priority":1e999}',
    "two documents": b"{} {}",
    "wrong types": b'{"tool":{},"arguments":[],"input":3}',
    "no tool": b"{}",
    "empty": b"",
}


async def test_malformed_bodies(door: Door) -> None:
    for name, body in BODIES.items():
        for path in ("/jobs", "/v1/runs", "/v1/runs/batch"):
            answer = await door.client.post(path, content=body)
            assert answer.status_code in (400, 422), (name, answer.text)
            assert answer.json()["code"] in ("malformed_json", "invalid_input", "ambiguous_arguments")
    assert (await door.get("/jobs"))["jobs"] == []


async def test_malformed_bodies_of_workers(door: Door) -> None:
    for name, body in BODIES.items():
        for verb in ("attach", "x/claim", "x/report", "x/heartbeat"):
            answer = await door.client.post(f"/v1/workers/{verb}", content=body)
            assert answer.status_code in (400, 410, 422), (name, answer.text)


@pytest.mark.parametrize(
    ("path", "limit"), [("/jobs", 1 << 20), ("/v1/runs", 1 << 20), ("/v1/workers/attach", 16 << 20)]
)
async def test_bodies_that_are_too_large(door: Door, path: str, limit: int) -> None:
    answer = await door.client.post(path, content=b" " * (limit + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert (await door.client.post(path, content=b" " * limit)).status_code in (400, 422)


async def test_a_member_that_is_wrong_is_named_by_its_pointer(door: Door) -> None:
    tool = {"mode": "tool"}
    cases: list[tuple[str, object, str]] = [
        ("/v1/runs", {"tool": "echo", "nix": 1}, "/nix"),
        ("/v1/runs", {"tool": "echo", "input": {**tool, "args/1": {}}}, "/input/args~11"),
        ("/v1/runs", {"tool": "echo", "input": {**tool, "arguments": 3}}, "/input/arguments"),
        ("/v1/runs", {"tool": "echo", "input": {"mode": "agent", "messages": []}}, "/input/mode"),
        ("/v1/runs", {"tool": "echo", "input": {"mode": "mcp_server", "clientInfo": {}}}, "/input/mode"),
        ("/v1/runs", {"tool": "echo", "input": {"mode": "nix"}}, "/input/mode"),
        ("/v1/runs", {"resourceType": "agent", "resourceId": "a"}, "/input/mode"),
        ("/v1/runs", {"tool": "echo", "resourceId": "echo"}, "/resourceId"),
        ("/v1/runs", {"tool": "echo", "dependsOn": [1]}, "/dependsOn/0"),
        ("/v1/runs", {"tool": "echo", "dependsOn": ["nix"]}, "/dependsOn/0"),
        ("/v1/runs", {"tool": "echo", "notBefore": "2027-03-28 02:30"}, "/notBefore"),
        ("/v1/runs", {"tool": "echo", "timeoutSeconds": -1}, "/timeoutSeconds"),
        ("/v1/runs", {"tool": "echo", "totalTimeoutSeconds": 0}, "/totalTimeoutSeconds"),
        ("/v1/runs", {"tool": "echo", "priority": 10**9}, "/priority"),
        ("/v1/runs", {"tool": "echo", "threadId": ""}, "/threadId"),
        ("/v1/runs", {"tool": "echo", "runOn": "never"}, "/runOn"),
        ("/v1/runs", {"tool": "echo", "tags": ["x", "y" * 201]}, "/tags"),
        ("/jobs", {"tool": "echo", "tags": "x"}, "/tags"),
        ("/jobs", {"tool": "echo", "depends_on": ["nix"]}, "/depends_on/0"),
        ("/jobs", {"tool": "echo", "type": "other"}, "/tool"),
        ("/jobs", {"tool": "echo", "not_before": "soon"}, "/not_before"),
    ]
    for path, body, pointer in cases:
        answer = await door.client.post(path, json=body)
        assert answer.status_code == 422, (body, answer.text)
        assert pointer in [flaw["pointer"] for flaw in answer.json()["errors"]], (body, answer.text)


async def test_arguments_in_two_places_are_ambiguous(door: Door) -> None:
    answer = await door.client.post("/jobs", json={"tool": "echo", "arguments": {}, "x": 1})
    assert (answer.status_code, answer.json()["code"]) == (400, "ambiguous_arguments")


async def test_arguments_are_checked_by_the_schema_of_the_tool(door: Door) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    tool = {"name": "typed", "runtime": "function", "inputSchema": schema}
    await door.client.put("/v1/tools", json={"definitions": [tool]})
    flat = await door.client.post("/jobs", json={"tool": "typed", "n": "x"})
    assert [flaw["pointer"] for flaw in flat.json()["errors"]] == ["/n"]
    nested = await door.client.post("/jobs", json={"tool": "typed", "arguments": {"n": "x"}})
    assert [flaw["pointer"] for flaw in nested.json()["errors"]] == ["/arguments/n"]
    body = {"tool": "typed", "input": {"mode": "tool", "arguments": {"n": "x"}}}
    run = await door.client.post("/v1/runs", json=body)
    assert [flaw["pointer"] for flaw in run.json()["errors"]] == ["/input/arguments/n"]
    unknown = await door.client.post("/jobs", json={"tool": "nix"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


async def test_limits_that_are_none(door: Door) -> None:
    for limit in ("0", "-1", "x", "1.5", "9" * 30):
        for path in ("/jobs", "/v1/runs", "/v1/events"):
            answer = await door.client.get(f"{path}?limit={limit}")
            assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/limit")


async def test_head_works_where_get_does(door: Door) -> None:
    run_id = await door.start()
    for path in ("/jobs", f"/jobs/{run_id}", "/v1/runs", f"/v1/runs/{run_id}/output", "/healthz", "/openapi.json"):
        got, head = await door.client.get(path), await door.client.head(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
        assert head.headers["content-length"] == str(len(got.content))


async def test_request_ids_are_echoed_if_they_are_harmless(door: Door) -> None:
    for given, is_kept in (("abc-1", True), ("x" * 100, True), ("x" * 101, False), ("a b", False), ("\x80", False)):
        answer = await door.client.get("/jobs", headers=[(b"x-request-id", given.encode("latin-1"))])
        assert (answer.headers["x-request-id"] == given) is is_kept


async def test_health_needs_no_token(door: Door) -> None:
    del door.client.headers["authorization"]
    assert (await door.get("/healthz")) == {"status": "ok"}
    assert (await door.get("/readyz")) == {"status": "ready", "workers": 0}
    door.core.starting.accepts = False
    closing = await door.client.get("/readyz")
    assert (closing.status_code, closing.json()["status"]) == (503, "closing")
