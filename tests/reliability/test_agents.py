"""Agents end to end, with real processes: what they call are runs of their own, and a lost attempt calls nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.hosted.servers import tiny
from tests.reliability.client import Client
from tests.reliability.installation import Installation
from tests.reliability.waiting import until

HELLO = {"mode": "agent", "messages": [{"role": "user", "content": "go"}]}


def agent(name: str, script: list[Any], callables: list[Any] | None = None, **policy: Any) -> dict[str, Any]:
    profile = {"model": "scripted", "script": script, "callables": callables or []}
    return {"resourceType": "agent", "name": name, "runtime": "agent", "profile": profile, "policy": policy}


def calls(*each: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {"calls": [{"callable": name, "arguments": arguments} for name, arguments in each]}


def begin(client: Client, name: str, **more: Any) -> str:
    body = {"resourceType": "agent", "resourceId": name, "input": {**HELLO, **more}}
    return str(client.read("POST", "/v1/runs", json=body)["runId"])


def ended(client: Client, run_id: str) -> Any:
    """The run once it has ended."""

    def run() -> Any:
        found = client.read("GET", f"/v1/runs/{run_id}", headers={"prefer": "wait=20"})
        return found if "endedAt" in found else None

    return until(run, "the agent ends", within_s=60)


def result(client: Client, run_id: str) -> Any:
    return client.read("GET", f"/v1/runs/{run_id}/result")["result"]


def links(client: Client, run_id: str) -> list[tuple[str, str]]:
    found = client.read("GET", f"/v1/runs/{run_id}/links")["items"]
    return [(each["relationType"], each["toRunId"]) for each in found if each["fromRunId"] == run_id]


def test_tools_are_called_side_by_side_as_runs_of_their_own(installation: Installation, client: Client) -> None:
    """R2: an agent's call of a tool is a child run, shown by a link of type tool_subrun."""
    one, two = installation.command("echo one"), installation.command("exit 3")
    client.apply(agent("caller", [calls((one, {}), (two, {})), {"say": "I saw {last}"}], [one, two]))
    run_id = begin(client, "caller")
    assert ended(client, run_id)["status"] == "succeeded"
    children = links(client, run_id)
    assert [relation for relation, _ in children] == ["tool_subrun", "tool_subrun"]
    assert sorted(client.read("GET", f"/v1/runs/{each}")["status"] for _, each in children) == ["failed", "succeeded"]
    assert '"status": "succeeded"' in result(client, run_id)["message"]
    assert '"failureKind": "tool_error"' in result(client, run_id)["message"]
    events = [each["event"] for each in client.read("GET", f"/v1/runs/{run_id}/events")["items"]]
    assert [each["type"] for each in events].count("message.completed") == 1
    for kind in ("tool_call.completed", "tool_result"):
        assert [each["callId"] for each in events if each["type"] == kind and "callId" in each] == ["0.0", "0.1"]
    assert client.read("GET", f"/v1/runs/{run_id}/replay")["identical"]


def test_an_agent_delegates_to_another_and_hands_over_to_a_third(installation: Installation, client: Client) -> None:
    """R2: delegation and handoff; what is handed over goes on when the first agent is through."""
    client.apply(agent("worker_agent", [{"say": "the answer is 42"}]), agent("heir", [{"say": "mine now"}]))
    called = [
        {"name": "worker_agent", "resourceType": "agent", "alias": "expert"},
        {"name": "heir", "resourceType": "agent", "relation": "handoff"},
    ]
    asked = {"messages": [{"role": "user", "content": "what is it?"}]}
    client.apply(agent("boss", [calls(("expert", asked)), calls(("heir", asked))], called))
    run_id = begin(client, "boss")
    assert ended(client, run_id)["summary"] == "handed over to heir"
    relations = dict(links(client, run_id))
    assert set(relations) == {"delegation", "handoff"}
    assert result(client, run_id) == {"handedOverTo": relations["handoff"]}
    assert ended(client, relations["handoff"])["status"] == "succeeded"
    assert ended(client, relations["delegation"])["input"]["messages"] == asked["messages"]


def test_a_server_is_injected_as_a_session_of_its_own(installation: Installation, client: Client) -> None:
    """R2: an MCP server in an agent is a child run of type mcp_server, linked by mcp_session."""
    server = {"resourceType": "mcp_server", "name": "tiny", "runtime": "mcp", "profile": {"server": tiny()}}
    client.apply(server)
    listing = ("tiny", {"method": "tools/list"})
    refs = [{"name": "tiny", "resourceType": "mcp_server"}]
    client.apply(agent("hosted", [calls(listing), calls(listing), {"say": "{last}"}], refs))
    run_id = begin(client, "hosted")
    assert ended(client, run_id)["status"] == "succeeded"
    ((relation, session),) = links(client, run_id)  # one session, however many requests
    assert relation == "mcp_session"
    assert client.read("GET", f"/v1/runs/{session}")["resourceType"] == "mcp_server"
    assert '"tools"' in result(client, run_id)["message"]
    client.read("POST", f"/v1/runs/{session}/cancel", json={})


def test_what_an_agent_may_call_is_frozen_with_its_revision(installation: Installation, client: Client) -> None:
    """R2: later switches of channels change no run, not even what it has yet to call."""
    slow, quick = installation.command("until [ -e go ]; do sleep 0.05; done"), installation.command("echo old")
    client.apply(agent("frozen", [calls((slow, {})), calls((quick, {})), {"say": "{last}"}], [slow, quick]))
    run_id = begin(client, "frozen")
    before = client.read("GET", f"/v1/resources/tool/{quick}")["channels"][0]["revisionId"]
    until(lambda: links(client, run_id), "the first call is out", within_s=30)
    definition = client.read("GET", f"/v1/tools/{quick}")
    changed = {name: definition[name] for name in ("name", "runtime", "inputSchema", "policy")}
    client.apply({**changed, "profile": {"command": ["echo", "new"], "cwd": str(installation.work)}})
    (installation.work / "go").touch()
    ended(client, run_id)
    runs = [client.read("GET", f"/v1/runs/{each}") for _, each in links(client, run_id)]
    assert [each["resourceRevisionId"] for each in runs if each["tool"] == quick] == [before]


def test_an_ephemeral_tool_is_answered_by_whoever_started_the_run(installation: Installation, client: Client) -> None:
    client.apply(agent("asker", [calls(("weather", {"city": "Bern"})), {"say": "{last}"}]))
    tool = {"name": "weather", "description": "How is it there?", "parametersSchema": {"type": "object"}}
    run_id = begin(client, "asker", ephemeralTools=[tool])

    def question() -> Any:
        found = client.read("GET", f"/v1/runs/{run_id}/interactions?status=open")["items"]
        return found[0] if found else None

    asked = until(question, "the question", within_s=30)
    assert "Bern" in asked["prompt"]["description"]
    answer = {"payload": {"sky": "clear"}}
    client.read("POST", f"/v1/interactions/{asked['interactionId']}/respond", json=answer)
    ended(client, run_id)
    assert '{"sky": "clear"}' in result(client, run_id)["message"]


def test_a_killed_worker_costs_no_second_call(fresh: Callable[..., Installation]) -> None:
    """O1 for agents: the next attempt goes on with the runs that there are."""
    here = fresh()
    here.start_server()
    first = here.start_worker("first", pools=["default"])
    client = here.client()
    counted = here.command("echo x >> calls; until [ -e go ]; do sleep 0.05; done", pool="tools")
    here.start_worker("tools", pools=["tools"])
    client.apply(agent("steady", [calls((counted, {})), {"say": "{last}"}], [counted], retryOnLost=True))
    run_id = begin(client, "steady")
    until(lambda: here.lines("calls"), "the tool runs", within_s=30)
    first.kill()
    here.start_worker("second", pools=["default"])
    until(lambda: client.read("GET", f"/v1/runs/{run_id}")["attemptCount"] == 2, "another attempt", within_s=60)
    (here.work / "go").touch()
    run = ended(client, run_id)
    assert (run["status"], len(links(client, run_id)), here.lines("calls")) == ("succeeded", 1, ["x"])


def test_a_stop_takes_what_follows_and_leaves_what_was_handed_over(installation: Installation, client: Client) -> None:
    waiting = installation.command("sleep 60")
    client.apply(agent("stopped", [calls((waiting, {}))], [waiting]))
    run_id = begin(client, "stopped")
    until(lambda: links(client, run_id), "the call is out", within_s=30)
    client.read("POST", f"/v1/runs/{run_id}/cancel", json={"reason": "enough"})
    run = ended(client, run_id)
    assert (run["status"], run["endReason"]) == ("canceled", "cancelled_cooperatively")
    ((_, child),) = links(client, run_id)
    assert ended(client, child)["status"] == "canceled"


@pytest.mark.parametrize(
    ("more", "pointer"),
    [
        ({"callableAliases": ["nothing"]}, "/input/callableAliases/0"),
        (
            {"additionalCallableRefs": [{"resourceType": "agent", "resourceId": "nobody"}]},
            "/input/additionalCallableRefs/0",
        ),
        (
            {"ephemeralTools": [{"name": "x", "description": ""}, {"name": "x", "description": ""}]},
            "/input/ephemeralTools/1/name",
        ),
    ],
)
def test_what_is_not_there_is_refused_before_the_run(client: Client, more: Any, pointer: str) -> None:
    client.apply(agent("picky", [{"say": "hello"}]))
    body = {"resourceType": "agent", "resourceId": "picky", "input": {**HELLO, **more}}
    answer = client.ask("POST", "/v1/runs", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


@pytest.mark.parametrize(
    ("profile", "pointer"),
    [
        ({"model": "oracle"}, "/profile/model"),
        ({"model": "scripted", "script": [{"sing": 1}]}, "/profile/script/0"),
        ({"model": "scripted", "script": [{"calls": []}]}, "/profile/script/0/calls"),
        ({"model": "scripted", "script": [{"calls": [{"callable": 1}]}]}, "/profile/script/0/calls/0"),
        ({"model": "scripted", "callables": [{"name": "a", "relation": "handoff"}]}, "/profile/callables/0/relation"),
        ({"model": "scripted", "callables": ["a", "a"]}, "/profile/callables/1"),
        ({"model": "scripted", "temperature": 1}, "/profile/temperature"),
    ],
)
def test_a_wrong_definition_is_refused_by_name(client: Client, profile: Any, pointer: str) -> None:
    definition = {"resourceType": "agent", "name": "wrong", "runtime": "agent", "profile": profile}
    answer = client.ask("PUT", "/v1/resources", json={"definitions": [definition]})
    assert answer.status_code == 422
    assert f"/definitions/0{pointer}" in [flaw["pointer"] for flaw in answer.json()["errors"]]
