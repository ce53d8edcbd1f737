"""The whole description, tried out by a machine that believes it: whatever it makes up, no 5xx and no undocumented answer.

The examples are bounded and always the same ones. Each operation is asked twice: about made-up things, and about things that
were made by requests before (a run, a script, an endpoint, a token, a worker's session). Then the document's links are followed:
each thing is made, and every operation that its answer leads to is tried on it, and those that these lead to. The library's own
state machine is not used, because it repeats a beginning and expects the same answers, and a ledger remembers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis.checks import CHECKS

from ringback.api.app import endpoints
from tests.api.contract import fresh
from tests.api.door import TOKEN, Door

NAMES = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
# Without `wait=0` a test of a script waits for a worker that never comes.
HEADERS = {"authorization": f"Bearer {TOKEN}", "ringback-project": "default", "prefer": "wait=0"}


def _settings(**more: Any) -> hypothesis.settings:
    return hypothesis.settings(
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        **more,
    )


def _checks() -> list[Any]:
    return CHECKS.get_by_names(list(NAMES))


def _impatient(case: schemathesis.Case[Any]) -> None:
    """No worker of ours waits for work."""
    if case.path.endswith("/claim") and isinstance(case.body, dict):
        case.body["waitMs"] = 0


def _schema(door: Door) -> Any:
    schema = schemathesis.openapi.from_dict(fresh())
    schema.config.update(base_url=str(door.client.base_url))
    return schema


async def _question(door: Door) -> tuple[str, dict[str, str]]:
    """An open question, and a link to it."""
    command = {"command": ["true"], "pool": "asking"}
    tool = {"name": "asking", "runtime": "command", "inputSchema": {"type": "object"}, "profile": command, "policy": {}}
    await door.client.put("/v1/tools", json={"definitions": [tool]})
    await door.start(tool="asking")
    worker = await door.worker(pool="asking")
    claim = await worker.begin()
    question = {"kind": "input", "title": "Who?", "key": "who", "options": [{"id": "a"}]}
    (told,) = await worker.report(claim, {"kind": "ask", "question": question})
    made = await door.client.post(f"/v1/interactions/{told['interactionId']}/links", json={})
    return told["interactionId"], made.json()


async def _known(door: Door) -> dict[str, str]:
    """Things that are there, by the placeholders that stand for them."""
    scripts, paths = "/api/projects/default/scripts/daily", "/api/projects/default/endpoints/daily"
    await door.client.put(scripts, json={"source": "x = 1"})
    await door.client.put(paths, json={"target": "daily"})
    run_id = await door.start()
    issued = await door.client.post(f"/v1/runs/{run_id}/capability-tokens", json={})
    worker = await door.worker(pool="elsewhere")
    interaction_id, link = await _question(door)
    return {
        "slug": "default",
        "name": "daily",
        "path": "daily",
        "run_id": run_id,
        "job_id": run_id,
        "token_id": issued.json()["tokenId"],
        "interaction_id": interaction_id,
        "link_id": link["linkId"],
        "token": link["url"].rpartition("/")[2],
        "session_id": worker.session_id,
        "pool": "default",
    }


def _try(operation: Any, known: Mapping[str, str]) -> Exception | None:
    """What is wrong with the answers of an operation, when it is asked about `known` things and otherwise made-up ones."""

    @_settings(max_examples=4)
    @hypothesis.given(case=operation.as_strategy())
    def one(case: schemathesis.Case[Any]) -> None:
        case.path_parameters.update({name: known[name] for name in case.path_parameters if name in known})
        _impatient(case)
        case.call_and_validate(checks=_checks(), headers=HEADERS, timeout=60)

    try:
        one()
    except Exception as error:  # noqa: BLE001 - each operation is told of, not only the first
        return error
    return None


@pytest.mark.parametrize("is_known", [pytest.param(False, id="made-up"), pytest.param(True, id="known")])
async def test_every_operation_answers_as_described(door: Door, is_known: bool) -> None:
    wrong, asked = {}, 0
    for result in _schema(door).get_all_operations():
        operation, asked = result.ok(), asked + 1
        known = await _known(door) if is_known else {}
        if (error := await asyncio.to_thread(_try, operation, known)) is not None:
            wrong[operation.label] = "\n".join(map(str, getattr(error, "exceptions", (error,))))
    assert wrong == {}
    assert asked == len(endpoints())


# What makes a thing that links lead on from, and a body that makes it; the rest is made up.
MADE: Mapping[str, Any] = {
    "runs_start": {"tool": "echo"},
    "runs_rerun": {},
    "runs_cancel": {},
    "jobs_start": {"tool": "echo"},
    "capabilities_issue": {},
    "attaching_attach": {"name": "w", "incarnation": "i", "slots": 1, "offers": [], "protocolVersion": 1},
    "tokens_make": {"name": "t", "scopes": ["runs:read"]},
    "callables_give": {"name": "echo", "granteeProjectId": "other"},
    "callables_put_alias": {"name": "echo"},
    "scripts_put": {"source": "x = 1"},
}
NAMED: Mapping[str, str] = {"slug": "default", "name": "linked", "alias": "linked"}


def _made(operation: Any, parameters: Mapping[str, str]) -> Any:
    """Make a thing by its operation; the answer."""
    case = operation.Case(body=MADE[operation.definition.raw["operationId"]], media_type="application/json")
    wanted = {each.name for each in operation.path_parameters}
    case.path_parameters = {name: parameters.get(name) or NAMED[name] for name in wanted}
    answer = case.call(base_url=operation.base_url, headers=HEADERS, timeout=60)
    assert answer.status_code < 300, (operation.label, answer.text)
    return case, answer


def _link_value(expression: str, case: Any, answer: Any) -> str:
    """What an expression of a link stands for."""
    place, _, rest = expression.partition("#/")
    if place == "$response.body":
        return str(answer.json()[rest])
    return str(case.path_parameters[expression.removeprefix("$request.path.")])


def _follow(
    operations: Mapping[str, Any], name: str, parameters: Mapping[str, str], seen: set[tuple[str, str]]
) -> dict[str, Any]:
    """Try whatever the answer to an operation leads to; what is wrong with it, by the link."""
    wrong: dict[str, Any] = {}
    raw = operations[name].definition.raw["responses"]
    links = {target: link for answer in raw.values() for target, link in answer.get("links", {}).items()}
    for target, link in sorted(links.items()):
        if (name, target) in seen:
            continue
        seen.add((name, target))
        case, answer = _made(operations[name], parameters)  # a thing of its own: some of what follows ends it
        known = {each: _link_value(text, case, answer) for each, text in link["parameters"].items()}
        if (error := _try(operations[target], known)) is not None:
            wrong[f"{name} -> {target}"] = "\n".join(map(str, getattr(error, "exceptions", (error,))))
        if target in MADE:
            wrong |= _follow(operations, target, known, seen)
    return wrong


async def test_whatever_an_answer_leads_to_answers_as_described(door: Door) -> None:
    operations = {}
    for result in _schema(door).get_all_operations():
        operation = result.ok()
        operations[operation.definition.raw["operationId"]] = operation
    leading = {name for name, each in operations.items() if "links" in str(each.definition.raw["responses"])}
    assert leading == set(MADE)
    wrong: dict[str, Any] = {}
    seen: set[tuple[str, str]] = set()
    for name in sorted(leading - {"runs_rerun", "runs_cancel", "capabilities_issue"}):
        wrong |= await asyncio.to_thread(_follow, operations, name, {}, seen)
    assert wrong == {}
    assert {name for name, _ in seen} == leading
