"""The official A2A client against a real server and worker, by the protocol's version 1.0 and by 0.3."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver, A2AClientError, Client, ClientConfig, ClientFactory
from a2a.helpers import new_data_message, new_text_message, new_text_part
from a2a.types import a2a_pb2
from a2a.utils.errors import A2AError, InvalidParamsError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict

from tests.reliability.installation import Installation, errors_in

FUNCTIONS = "tests.a2a.functions:app"
State = a2a_pb2.TaskState
ENDS = (State.TASK_STATE_COMPLETED, State.TASK_STATE_FAILED, State.TASK_STATE_CANCELED)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with Installation(tmp_path_factory.mktemp("a2a"), lease_s=10.0) as shared:
        shared.start_server()
        shared.start_worker(slots=4, app=FUNCTIONS)
        yield shared
        assert not errors_in(shared.log())


def token_of(here: Installation) -> str:
    return here.settings.places.token.read_text(encoding="ascii").strip()


@asynccontextmanager
async def connected(here: Installation, *, streams: bool = False, waits: bool = True) -> AsyncIterator[Client]:
    """A client that found the server by its card."""
    headers = {"Authorization": f"Bearer {token_of(here)}"}
    async with httpx.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
        card = await A2ACardResolver(http, here.url).get_agent_card()
        config = ClientConfig(httpx_client=http, streaming=streams, polling=not waits)
        client = ClientFactory(config).create(card)
        yield client


def asking(data: Any = None, *, text: str = "", **more: str) -> a2a_pb2.SendMessageRequest:
    message = new_data_message(data) if data is not None else new_text_message(text)
    message.role = a2a_pb2.Role.ROLE_USER
    for name, value in more.items():
        setattr(message, name, value)
    return a2a_pb2.SendMessageRequest(message=message)


async def sent(client: Client, request: a2a_pb2.SendMessageRequest) -> a2a_pb2.Task:
    """The task of a message that is not streamed."""
    answers = [answer async for answer in client.send_message(request)]
    assert answers[-1].HasField("task"), answers
    return answers[-1].task


def state_of(task: a2a_pb2.Task) -> str:
    return str(a2a_pb2.TaskState.Name(task.status.state)).removeprefix("TASK_STATE_")


def data_of(task: a2a_pb2.Task) -> Any:
    (artifact,) = (each for each in task.artifacts if each.artifact_id == "result")
    return MessageToDict(artifact.parts[0].data)


async def test_the_card_tells_what_the_server_is_and_nothing_of_the_project(here: Installation) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        raw = (await http.get(f"{here.url}/.well-known/agent-card.json")).text
        card = await A2ACardResolver(http, here.url).get_agent_card()
    assert [each.url for each in card.supported_interfaces] == [f"{here.url}/a2a"] * 2
    assert [each.id for each in card.skills] == ["run"]
    assert "greet" not in raw
    assert "default" not in raw.replace("defaultInputModes", "").replace("defaultOutputModes", "")
    async with connected(here) as client:
        extended = await client.get_extended_agent_card(a2a_pb2.GetExtendedAgentCardRequest())
    assert {"greet", "deploy"} <= {each.id for each in extended.skills}


async def test_who_has_no_token_gets_nothing(here: Installation) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
    async with httpx.AsyncClient(trust_env=False) as http:
        answers = [
            await http.post(f"{here.url}/a2a", json=call, headers=headers)
            for headers in ({}, {"Authorization": "Bearer rbp_wrong"}, {"Authorization": "Basic eDp5"})
        ]
        big = await http.post(
            f"{here.url}/a2a", content=b"x" * (1 << 21), headers={"Authorization": f"Bearer {token_of(here)}"}
        )
        got = await http.get(f"{here.url}/a2a")
    assert [answer.status_code for answer in answers] == [401, 401, 401]
    assert (big.status_code, got.status_code) == (413, 405)


async def test_a_message_starts_a_run_and_waits_for_it(here: Installation) -> None:
    async with connected(here) as client:
        request = asking({"tool": "greet", "arguments": {"name": "Ada"}}, context_id="ctx-1")
        task = await sent(client, request)
        assert (state_of(task), task.context_id) == ("COMPLETED", "ctx-1")
        assert data_of(task) == {"result": {"greeting": "hello Ada", "letters": 3}}
        again = await sent(client, request)  # the same message is the same run
        assert again.id == task.id
        found = await client.get_task(a2a_pb2.GetTaskRequest(id=task.id))
        assert MessageToDict(found) == MessageToDict(task)
    run = here.client().run(task.id)
    assert (run["contextId"], run["status"]) == ("ctx-1", "succeeded")


async def test_words_start_an_agent(here: Installation) -> None:
    """Which calls a tool as a child of its run, and speaks."""
    script = [{"calls": [{"callable": "greet", "arguments": {"name": "Bob"}}]}, {"say": "Bob was greeted."}]
    definition = {
        "resourceType": "agent",
        "name": "helper",
        "runtime": "agent",
        "description": "Helps.",
        "profile": {"model": "scripted", "callables": ["greet"], "script": script},
    }
    answer = here.client().ask("PUT", "/v1/resources", json={"definitions": [definition]})
    assert answer.is_success, answer.text
    async with connected(here) as client:
        message = new_data_message({"agent": "helper"})
        message.parts.append(new_text_part("Greet Bob."))
        task = await sent(client, a2a_pb2.SendMessageRequest(message=message))
        assert state_of(task) == "COMPLETED"
        assert "Bob was greeted." in str(MessageToDict(task))
        extended = await client.get_extended_agent_card(a2a_pb2.GetExtendedAgentCardRequest())
        assert "agent:helper" in {each.id for each in extended.skills}
    run = here.client().run(task.id)
    assert (run["resourceType"], run["input"]["messages"]) == ("agent", [{"role": "user", "content": "Greet Bob."}])


async def test_work_that_fails_and_commands_that_write(here: Installation) -> None:
    name = here.command("echo some output; echo more >&2; exit 3")
    async with connected(here) as client:
        failed = await sent(client, asking({"tool": "break_down", "arguments": {"reason": "no luck"}}))
        assert state_of(failed) == "FAILED"
        assert "no luck" in failed.status.message.parts[0].text
        command = await sent(client, asking({"tool": name}))
        assert state_of(command) == "FAILED"
        (output,) = (each for each in command.artifacts if each.artifact_id == "output")
        assert sorted(output.parts[0].text.split()) == ["more", "output", "some"]


async def test_a_stream_shows_progress_and_ends_with_the_task(here: Installation) -> None:
    async with connected(here, streams=True) as client:
        events = [event async for event in client.send_message(asking({"tool": "count", "arguments": {"to": 12}}))]
    kinds = [event.WhichOneof("payload") for event in events]
    assert kinds[0] == "task"
    assert kinds[-2:] == ["artifact_update", "status_update"]
    assert events[-1].status_update.status.state == State.TASK_STATE_COMPLETED
    assert MessageToDict(events[-2].artifact_update.artifact.parts[0].data) == {"result": 12}
    told = [part.text for event in events[1:-2] for part in event.status_update.status.message.parts]
    assert told
    assert all("/12 at " in text for text in told)


async def test_a_task_is_cancelled(here: Installation) -> None:
    async with connected(here, waits=False) as client:
        task = await sent(client, asking({"tool": "count", "arguments": {"to": 0}}))
        assert state_of(task) in ("SUBMITTED", "WORKING")
        here.client().running(task.id)
        cancelled = await client.cancel_task(a2a_pb2.CancelTaskRequest(id=task.id))
        assert state_of(cancelled) == "CANCELED"
        again = await client.cancel_task(a2a_pb2.CancelTaskRequest(id=task.id))
        assert state_of(again) == "CANCELED"
    assert here.client().run(task.id)["endReason"] == "cancelled_cooperatively"


async def test_a_question_is_answered_by_a_message(here: Installation) -> None:
    async with connected(here) as client:
        task = await sent(client, asking({"tool": "deploy", "arguments": {"place": "production"}}))
        assert state_of(task) == "INPUT_REQUIRED"
        assert task.status.message.parts[0].text == "Deploy to production?"
        with pytest.raises(InvalidParamsError):
            await sent(client, asking(text="perhaps", task_id=task.id))
        done = await sent(client, asking(text="yes", task_id=task.id, context_id=task.context_id))
        assert (state_of(done), data_of(done)) == ("COMPLETED", {"result": "deployed to production"})
        with pytest.raises(A2AError):
            await sent(client, asking(text="yes", task_id=task.id))
        other = await sent(client, asking({"tool": "deploy", "arguments": {"place": "x"}}))
        left = await sent(client, asking({"decision": "reject"}, task_id=other.id))
        assert data_of(left) == {"result": "left alone"}


async def test_a_subscription_goes_on_where_a_stream_was_left(here: Installation) -> None:
    async with connected(here, streams=True) as client:
        stream = client.send_message(asking({"tool": "deploy", "arguments": {"place": "staging"}}))
        events = [event async for event in stream]
        task_id = events[0].task.id
        assert events[-1].WhichOneof("payload") in ("task", "status_update")
        seen: list[a2a_pb2.StreamResponse] = []

        async def follow() -> None:
            request = a2a_pb2.SubscribeToTaskRequest(id=task_id)
            async for event in client.subscribe(request):
                seen.append(event)  # noqa: PERF401 - seen as they come

        following = asyncio.ensure_future(follow())
        async with asyncio.timeout(30):
            while not seen:
                await asyncio.sleep(0.02)
        [_ async for _ in client.send_message(asking(text="yes", task_id=task_id))]
        async with asyncio.timeout(30):
            await following
    assert seen[0].task.status.state == State.TASK_STATE_INPUT_REQUIRED
    assert seen[-1].status_update.status.state == State.TASK_STATE_COMPLETED


async def test_a_server_that_is_shut_down_ends_its_streams(tmp_path: Path) -> None:
    with Installation(tmp_path) as fresh:
        server = fresh.start_server()
        name = fresh.command("true")
        async with connected(fresh, streams=True) as client:
            stream = client.send_message(asking({"tool": name}))
            assert (await anext(stream)).task.status.state == State.TASK_STATE_SUBMITTED  # there is no worker
            server.signal(signal.SIGTERM)
            with suppress(httpx.TransportError, A2AClientError):
                async with asyncio.timeout(30):
                    [_ async for _ in stream]
        assert server.ended() == 0


async def test_tasks_are_listed(here: Installation) -> None:
    async with connected(here) as client:
        ids = [(await sent(client, asking({"tool": "greet", "arguments": {"name": name}}))).id for name in "abc"]
        page = await client.list_tasks(a2a_pb2.ListTasksRequest(page_size=2))
        assert [task.id for task in page.tasks] == ids[:0:-1]
        assert not page.tasks[0].artifacts
        following = await client.list_tasks(a2a_pb2.ListTasksRequest(page_size=2, page_token=page.next_page_token))
        assert following.tasks[0].id == ids[0]
        done = await client.list_tasks(
            a2a_pb2.ListTasksRequest(status=State.TASK_STATE_COMPLETED, include_artifacts=True, page_size=100)
        )
        assert set(ids) <= {task.id for task in done.tasks}
        assert {state_of(task) for task in done.tasks} == {"COMPLETED"}
        assert data_of(done.tasks[0])["result"]["letters"] == 1


@pytest.mark.parametrize(
    ("request_", "kind", "told"),
    [
        (asking({"tool": "nobody"}), InvalidParamsError, "no such tool"),
        (asking({"tool": "greet", "arguments": {"nome": 1}}), InvalidParamsError, "name"),
        (asking({"tool": "greet", "nix": 1}), InvalidParamsError, "unknown member"),
        (asking(text="hello"), InvalidParamsError, "name what to run"),
        (asking(text="yes", task_id="01a23000-0000-7000-8000-000000000000"), TaskNotFoundError, ""),
    ],
)
async def test_what_is_wrong_is_told(
    here: Installation, request_: a2a_pb2.SendMessageRequest, kind: type[A2AError], told: str
) -> None:
    async with connected(here) as client:
        with pytest.raises(kind) as caught:
            await sent(client, request_)
    assert told in str(caught.value)


async def test_version_0_3_is_understood(here: Installation) -> None:
    """As a client of the older protocol says it, word for word."""
    headers = {"Authorization": f"Bearer {token_of(here)}"}
    message = {
        "kind": "message",
        "messageId": "old-1",
        "role": "user",
        "parts": [{"kind": "data", "data": {"tool": "greet", "arguments": {"name": "old"}}}],
    }
    async with httpx.AsyncClient(trust_env=False, headers=headers, timeout=60) as http:

        async def call(method: str, params: Any) -> Any:
            body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
            answer = await http.post(f"{here.url}/a2a", json=body)
            if answer.headers["content-type"].startswith("text/event-stream"):
                return [json.loads(line[5:])["result"] for line in answer.text.splitlines() if line.startswith("data:")]
            return answer.json()["result"]

        task = await call("message/send", {"message": message})
        assert (task["status"]["state"], task["kind"]) == ("completed", "task")
        assert (await call("tasks/get", {"id": task["id"]}))["status"]["state"] == "completed"
        assert (await call("tasks/cancel", {"id": task["id"]}))["status"]["state"] == "completed"
        events = await call("message/stream", {"message": {**message, "messageId": "old-2"}})
        assert events[-1]["status"]["state"] == "completed"
        again = await call("tasks/resubscribe", {"id": task["id"]})
        assert again[0]["status"]["state"] == "completed"
