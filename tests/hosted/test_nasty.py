"""A server that does what no server should: the call ends as it must, the next one works, and nothing is left of it."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.hosted.calling import calling, text_of
from tests.hosted.servers import nasty
from tests.worker.attempts import dead, is_alive

KEY = "S3cr3t-key-0123456789"


@pytest.mark.parametrize("words", [(), ("banner",), ("modern",), ("banner", "modern"), ("batch",)], ids="-".join)
async def test_both_eras_banners_and_batches(words: tuple[str, ...]) -> None:
    async with calling() as call:
        outcome = await call(nasty(*words), "echo", arguments={"a": 1})
        assert text_of(outcome) == '{"a": 1}'
        assert outcome.summary == '{"a": 1}'


async def test_defaults_are_given_where_the_caller_gives_nothing() -> None:
    async with calling() as call:
        outcome = await call(nasty(), "echo", arguments={"a": 1}, profile={"defaults": {"a": 0, "b": 2}})
        assert text_of(outcome) == '{"a": 1, "b": 2}'


async def test_a_list_comes_whole_and_the_server_stays_warm() -> None:
    async with calling() as call:
        first, second = [text_of(await call(nasty(), "pid")) for _ in range(2)]
        listed = await call(nasty(), profile={"method": "tools/list"})
        assert first == second
        assert len(listed.result["tools"]) == 20
        once = nasty(idleS=0)
        pids = [int(text_of(await call(once, "pid"))) for _ in range(2)]
        assert pids[0] != pids[1]
        assert not any(map(is_alive, pids))


async def test_junk_is_output_and_no_answer() -> None:
    async with calling() as call:
        assert text_of(await call(nasty(), "junk")) == "after the junk"
        seen = b"".join(data for _, data in call.recorder.of("output"))
        assert seen.startswith(b"a banner on the wrong stream\n{not json}\n1\n2\n")
        assert b"\xff\xfe\x00 binary\n" in seen
        assert text_of(await call(nasty(), "pinged")) == "{}"


async def test_it_answers_pings_refuses_what_it_does_not_support_and_survives_malformed_lines() -> None:
    async with calling() as call:
        outcome = await call(nasty(asks=[]), "trial")
        assert json.loads(text_of(outcome)) == {"ping": {}, "sampling": -32601}
        seen = b"".join(data for _, data in call.recorder.of("output"))
        assert seen == b"\xff\nno json\n"


async def test_a_huge_answer_costs_its_call_only() -> None:
    async with calling() as call:
        pid = text_of(await call(nasty(), "pid"))
        let_go = await call(nasty(), "huge", arguments={"mib": 40})
        assert let_go.kind == "failed"
        assert "16777216 are the most" in (let_go.error_message or "")
        too_much = await call(nasty(), "huge", arguments={"mib": 12})
        assert "8388608 are the most" in (too_much.error_message or "")
        assert len(text_of(await call(nasty(), "huge", arguments={"mib": 4}))) == 4 * 1024 * 1024
        assert text_of(await call(nasty(), "pid")) == pid


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("die", "the MCP server was killed by SIGKILL before it answered"),
        ("exit", "the MCP server ended with exit code 3 before it answered"),
        ("linger", "the MCP server ended with exit code 4 before it answered"),
        ("close", "the MCP server closed its output before it answered"),
    ],
)
async def test_a_death_is_told_and_the_next_call_works(tool: str, said: str) -> None:
    async with calling() as call:
        pid = int(text_of(await call(nasty(), "pid")))
        outcome = await call(nasty(), tool)
        assert (outcome.kind, outcome.error_kind, outcome.error_message) == ("failed", "tool_error", said)
        assert not is_alive(pid)
        if tool == "die":
            assert outcome.signal == "SIGKILL"
            assert call.recorder.text("stderr") == "about to die\n"
        assert int(text_of(await call(nasty(), "pid"))) != pid


async def test_a_server_killed_between_calls_is_started_again() -> None:
    async with calling() as call:
        pid = int(text_of(await call(nasty(), "pid")))
        os.kill(pid, signal.SIGKILL)
        await dead(pid)
        assert int(text_of(await call(nasty(), "pid"))) != pid


async def test_failures_in_a_row_are_followed_by_pauses() -> None:
    async with calling() as call:
        server = nasty(restart={"delayS": 0.4})
        loop = asyncio.get_running_loop()
        for _ in range(2):
            assert (await call(server, "die")).kind == "failed"
        began = loop.time()
        text_of(await call(server, "pid"))
        assert loop.time() - began > 0.3
        began = loop.time()
        text_of(await call(server, "pid"))
        assert loop.time() - began < 0.3


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (nasty("refuse", secrets=["API_KEY"]), "exit code 1; its last words: there is no license for the key ***"),
        (nasty("mute", startWithinS=1), "the MCP server did not answer the handshake within 1 s"),
        ({"command": ["/no/such/server"]}, "could not be started: program '/no/such/server': No such file"),
        ({"command": ["/bin/cat"], "cwd": "/no/folder"}, "working directory '/no/folder'"),
        (nasty(secrets=["NOT_THERE"]), "this worker has no variable NOT_THERE"),
        (nasty(secretsFile="/no/file"), "file of secrets can't be read: FileNotFoundError"),
        ({"url": "http://127.0.0.1:9/mcp"}, "the MCP server at http://127.0.0.1:9/mcp can't be reached: ConnectError"),
    ],
)
async def test_a_server_that_does_not_start(server: dict[str, Any], said: str) -> None:
    async with calling({"API_KEY": KEY}) as call:
        outcome = await call(server, "echo")
        assert (outcome.kind, outcome.error_kind) == ("failed", "tool_error")
        assert said in (outcome.error_message or "")


@pytest.mark.parametrize(("tool", "grace_ms"), [("hang", 20_000), ("obey", 20_000), ("deaf", 500)])
async def test_a_stop_ends_the_work_and_says_how(tool: str, grace_ms: int) -> None:
    is_forced = tool == "deaf"
    async with calling() as call:
        pid = int(text_of(await call(nasty(), "pid")))
        under_way = call.begin(nasty(), tool, grace_ms=grace_ms)
        await call.recorder.until_started()
        call.stop.request("cancel")
        outcome = await under_way
        assert (outcome.kind, outcome.forced) == ("stopped", is_forced)
        assert call.recorder.of("cancel_delivered")
        assert bool(call.recorder.of("cancel_acknowledged")) is not is_forced
        assert is_alive(pid) is (tool == "obey")  # who answered may serve the next call


async def test_a_lost_attempt_is_killed_at_once() -> None:
    async with calling() as call:
        pid = int(text_of(await call(nasty(), "pid")))
        under_way = call.begin(nasty(), "deaf", grace_ms=60_000)
        await call.recorder.until_started()
        call.stop.request("lost")
        assert (await under_way).kind == "released"
        assert not is_alive(pid)


async def test_a_stop_before_the_server_is_up() -> None:
    async with calling() as call:
        under_way = call.begin(nasty("mute"), "echo")
        await asyncio.sleep(0)
        call.stop.request("cancel")
        assert (await under_way).kind == "stopped"


async def test_the_idle_limit() -> None:
    async with calling() as call:
        outcome = await call(nasty(), "hang", idle_timeout_ms=300, grace_ms=200)
        assert outcome.kind == "stopped"  # the attempt makes it a timeout
        assert call.stop.why == "timeout:idle"


async def test_what_the_server_started_goes_with_it() -> None:
    async with calling() as call:
        pid = int(text_of(await call(nasty(idleS=0), "fork")))
        assert not is_alive(pid)


async def test_progress_and_log_messages() -> None:
    async with calling() as call:
        outcome = await call(nasty(), "progress")
        assert outcome.result == {"content": [{"type": "text", "text": "done"}], "structuredContent": {"steps": 3}}
        assert call.recorder.of("progress") == [[n, 3, f"step {n}"] for n in (1, 2, 3)]
        assert call.recorder.text("stderr") == '[warning] {"a":1}\n'


async def test_failures_of_the_tool_and_of_the_protocol() -> None:
    async with calling() as call:
        failed = await call(nasty(), "fail")
        assert (failed.kind, failed.error_kind) == ("failed", "tool_error")
        assert failed.error_message == "it did not work\nreally not"
        assert failed.summary == "it did not work"
        wrong = await call(nasty(), "wrong")
        assert (wrong.kind, wrong.error_kind, wrong.retryable) == ("failed", "invalid_params", False)
        assert wrong.error_message == "no such argument (-32602)"


ANSWERS: list[tuple[tuple[str, dict[str, Any] | None], dict[str, Any]]] = [
    (("answered", {"payload": {"name": "Ada"}}), {"action": "accept", "content": {"name": "Ada"}}),
    (("rejected", {"decision": "reject"}), {"action": "decline"}),
    (("expired", None), {"action": "cancel"}),
]


@pytest.mark.parametrize(("reply", "told"), ANSWERS, ids=["answered", "rejected", "expired"])
@pytest.mark.parametrize("era", ["handshake", "modern"])
async def test_an_elicitation_is_a_question_of_the_run(era: str, reply: Any, told: dict[str, Any]) -> None:
    async with calling() as call:
        outcome = await call(nasty(era), "ask", replies=[reply])
        assert json.loads(text_of(outcome)) == told
        question = call.recorder.questions[0]
        assert (question["kind"], question["title"]) == ("input", "Who are you?")
        assert question["description"] == "Tell the truth."
        assert question["responseSchema"]["required"] == ["name"]


async def test_an_address_to_open_and_a_model_to_answer() -> None:
    async with calling() as call:
        url = {"mode": "url", "url": "https://example.org/pay", "elicitationId": "e1"}
        outcome = await call(nasty(), "ask", arguments=url, replies=[("answered", {"decision": "approve"})])
        assert json.loads(text_of(outcome)) == {"action": "accept"}
        assert "https://example.org/pay" in call.recorder.questions[0]["description"]
        refused = json.loads(text_of(await call(nasty(), "sample")))
        assert refused["code"] == -32601
        server = nasty(asks=["sampling"])
        said = json.loads(text_of(await call(server, "sample", replies=[("answered", {"payload": "Paris"})])))
        assert (said["content"]["text"], said["role"]) == ("Paris", "assistant")
        assert "the capital of France?" in call.recorder.questions[0]["description"]


async def test_secrets_reach_the_server_and_nobody_else(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    file.write_text(json.dumps({"API_KEY": KEY}))
    variables = {"API_KEY": KEY, "RINGBACK_TOKEN": "rbp_worker"}
    for server in (nasty(secrets=["API_KEY"]), nasty(secretsFile=str(file))):
        async with calling(variables) as call:
            assert text_of(await call(server, "secret")) == "*** and []"
            assert call.recorder.text("stderr") == "the key is ***\n"
    async with calling(variables) as call:
        assert text_of(await call(nasty(), "secret")) == "no key and []"


async def test_a_limit_of_sessions_makes_calls_wait_for_each_other() -> None:
    async with calling() as call:
        one = nasty(sessions=1)
        pids = await asyncio.gather(*(call(one, "pid") for _ in range(5)))
        assert len({text_of(each) for each in pids}) == 1
        many = await asyncio.gather(*(call(nasty(), "pid") for _ in range(3)))
        assert len({text_of(each) for each in many}) == 3
