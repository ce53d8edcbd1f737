"""Calling functions in warm interpreters: arguments, context, pages, children, failures, and what survives them."""

import asyncio
import os
import signal
from typing import Any

import pytest

from ringback.worker.runtimes.interpreter import LoadError
from tests.worker.functions import TOKEN, functions


async def test_the_runtime_announces_the_tools_of_its_application() -> None:
    async with functions() as tools:
        named = {each["name"]: each for each in tools.runtime.definitions}
        assert named["typed"]["profile"]["function"] == "tests.worker.function_tools:app/typed"
        assert named["typed"]["inputSchema"]["properties"]["count"] == {
            "description": "how many",
            "type": "integer",
            "default": 3,
        }


async def test_a_warm_interpreter_is_used_again() -> None:
    async with functions(slots=1) as tools:
        seen = [await tools.value("whoami") for _ in range(3)]
        assert [each["call"] for each in seen] == [1, 2, 3]
        assert len({each["pid"] for each in seen}) == 1


async def test_arguments_are_converted_to_the_annotated_types() -> None:
    async with functions() as tools:
        given = {"point": {"x": 1}, "at": "2026-01-02T03:04:05+05:45"}
        assert await tools.value("typed", **given) == {
            "x": 1,
            "colour": "red",
            "at": "2026-01-02T03:04:05+05:45",
            "count": 3,
        }


async def test_arguments_that_do_not_fit_are_no_reason_to_try_again() -> None:
    async with functions() as tools:
        outcome = await tools.call("typed", {"point": {"x": "one"}})
        assert (outcome.kind, outcome.error_kind, outcome.retryable) == ("failed", "invalid_params", False)
        assert outcome.error_message == "/point/x: Expected `int`, got `str`"
        assert outcome.error_detail == {"pointer": "/point/x"}


async def test_the_context_knows_the_attempt() -> None:
    async with functions() as tools:
        outcome = await tools.call(
            "about",
            {"n": 4},
            job_id="job_x",
            attempt_no=2,
            checkpoint={"page": 7},
            deadline_at="2100-01-01T00:00:00.250Z",
        )
        assert outcome.result == {
            "run": "run",
            "job": "job_x",
            "attempt": 2,
            "token": "run",
            "arguments": {"n": 4},
            "deadline": "2100-01-01T00:00:00.250000Z",
            "checkpoint": {"page": 7},
            "cancelled": False,
        }
        assert (await tools.value("about"))["deadline"] is None


async def test_what_a_tool_tells_arrives_in_order() -> None:
    async with functions() as tools:
        started = tools.begin("tells")
        outcome = await started.task
        assert (outcome.result, outcome.summary) == ("fine", "told")
        told = [event for event in started.recorder.events if event[0] != "output"]
        assert told == [("progress", 1, 3, "one"), ("page", [0, 1]), ("checkpoint", {"at": 2})]
        assert started.recorder.text("stderr").endswith("a line\n")


async def test_progress_is_thinned_out_but_ends_with_the_last_one() -> None:
    async with functions() as tools:
        started = tools.begin("counts", {"n": 50_000})
        await started.task
        told = started.recorder.of("progress")
        assert told[-1] == [50_000, 50_000, None]
        assert len(told) < 5_000


@pytest.mark.parametrize(("tool", "result"), [("pages", "all"), ("apages", None)])
async def test_what_a_generator_yields_are_page_items(tool: str, result: Any) -> None:
    async with functions() as tools:
        started = tools.begin(tool, {"n": 2_000})
        assert (await started.task).result == result
        assert started.recorder.items() == list(range(2_000))


async def test_pages_of_any_size_are_cut_into_pieces() -> None:
    async with functions() as tools:
        started = tools.begin("many_items", {"n": 5_000})
        assert (await started.task).kind == "succeeded"
        assert len(started.recorder.items()) == 5_000


async def test_children_are_started_through_the_reporter() -> None:
    async with functions() as tools:
        started = tools.begin("parent", {"tool": "child"})
        assert (await started.task).result == "child-1"
        assert started.recorder.children == [("child", {"x": 1})]
        assert sorted(await tools.value("aparent")) == ["child-1", "child-2", "child-3"]


async def test_a_refused_child_is_an_exception_of_the_parent() -> None:
    async with functions() as tools:
        outcome = await tools.call("parent", {"tool": "refused"})
        assert outcome.error_message == "ChildRefusedError: there is no such tool (not_found)"


async def test_an_exception_is_told_with_its_traceback_from_the_users_code_on() -> None:
    async with functions() as tools:
        outcome = await tools.call("raises", {"message": "no " + "x" * 9_000})
        assert (outcome.kind, outcome.error_kind, outcome.retryable) == ("failed", "tool_error", True)
        assert str(outcome.error_message).startswith("ValueError: no")
        assert len(str(outcome.error_message)) == 4_000
        outcome = await tools.call("raises", {"message": "short"})
        assert outcome.error_detail["type"] == "ValueError"
        trace = outcome.error_detail["traceback"]
        assert "function_tools.py" in trace
        assert "stage.py" not in trace
        assert len(trace) <= 4_000


async def test_secrets_are_masked_in_errors_results_and_summaries() -> None:
    async with functions() as tools:
        outcome = await tools.call("raises", {"message": "token S3cr3t-abc-123456"})
        assert outcome.error_message == "ValueError: token ***"
        assert "S3cr3t" not in str(outcome.error_detail)
        outcome = await tools.call("raises", {"message": TOKEN})
        assert outcome.error_message == "ValueError: ***"
        outcome = await tools.call("prints_secret")
        assert (outcome.result, outcome.summary) == ("it is ***", "it is ***")


async def test_a_deliberate_failure_has_no_traceback() -> None:
    async with functions() as tools:
        outcome = await tools.call("gives_up")
        assert (outcome.error_message, outcome.error_detail) == ("there is no such page", {"code": 404})
        assert not outcome.retryable


async def test_odd_endings_cost_their_own_attempt_only() -> None:
    async with functions(slots=1) as tools:
        before = await tools.value("whoami")
        endings = [
            (await tools.call("leaves", {"how": "sys"})).error_message,
            (await tools.call("aexits")).error_message,
            (await tools.call("raises_unprintable")).error_message,
            (await tools.call("no_such_tool")).error_message,
        ]
        assert endings == [
            "the function called exit(3)",
            "the function called exit(over)",
            "OddError: (its message can't be read)",
            "this application has no tool 'no_such_tool'",
        ]
        assert (await tools.value("whoami"))["pid"] == before["pid"]


async def test_a_copy_of_the_interpreter_says_nothing() -> None:
    async with functions(slots=1) as tools:
        before = await tools.value("whoami")
        assert (await tools.call("leaves", {"how": "fork"})).kind == "succeeded"
        assert (await tools.value("whoami"))["pid"] == before["pid"]


async def test_an_interpreter_that_dies_fails_its_attempt_and_is_replaced() -> None:
    async with functions(slots=1) as tools:
        before = await tools.value("whoami")
        outcome = await tools.call("leaves", {"how": "os"})
        assert outcome.error_message == "the interpreter ended with exit code 3"
        assert (outcome.kind, outcome.error_kind, outcome.exit_code) == ("failed", "tool_error", 3)
        started = tools.begin("leaves", {"how": "segv"})
        outcome = await started.task
        assert outcome.error_message == "the interpreter was killed by SIGSEGV"
        assert outcome.signal == "SIGSEGV"
        assert "Segmentation fault" in started.recorder.text("stderr")
        assert (await tools.value("whoami"))["pid"] != before["pid"]


async def test_kill_9_of_an_interpreter_is_noticed_at_once() -> None:
    async with functions(slots=1) as tools:
        pid = (await tools.value("whoami"))["pid"]
        started = tools.begin("sleeps")
        await started.recorder.until_started()
        signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)
        outcome = await asyncio.wait_for(started.task, 5)
        assert outcome.error_message == "the interpreter was killed by SIGKILL"


async def test_an_idle_interpreter_that_dies_costs_no_attempt() -> None:
    async with functions(slots=1) as tools:
        pid = (await tools.value("whoami"))["pid"]
        interpreter = tools.runtime._idle[0]
        signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)
        await interpreter.child.gone()
        assert (await tools.value("whoami"))["pid"] != pid


async def test_an_attempt_that_was_stopped_before_it_began_never_begins() -> None:
    async with functions(slots=1) as tools:
        first = tools.begin("loops")
        await first.recorder.until_started()
        second = tools.begin("prints", {"text": "never"})
        second.stop.request("cancel")
        await first.stopped()
        assert (await second.task).kind == "stopped"
        assert not second.recorder.events


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("tests.worker.function_tools:nothing", "there is no 'nothing'"),
        ("tests.worker.function_tools:FOREVER_S", "is float, not a ringback.App"),
        ("tests.worker.no_such_module:app", "No module named 'tests.worker.no_such_module'"),
        ("tests.worker.function_tools", "expected module:app"),
        ("antigravity_of_nothing:", "expected module:app"),
    ],
)
async def test_an_application_that_cannot_be_loaded_says_why(target: str, reason: str) -> None:
    with pytest.raises(LoadError, match=reason):
        async with functions(target):
            pass


async def test_a_lost_guardian_fails_the_attempt_and_a_new_one_serves_the_next() -> None:
    async with functions(slots=1) as tools:
        started = tools.begin("sleeps")
        await started.recorder.until_started()
        assert tools.guardian.pid is not None
        signal.pidfd_send_signal(os.pidfd_open(tools.guardian.pid), signal.SIGKILL)
        outcome = await asyncio.wait_for(started.task, 10)
        assert (outcome.kind, outcome.error_kind) == ("failed", "internal")
        assert await tools.value("echo", value=1) == 1


async def test_without_a_guardian_there_is_a_reason() -> None:
    async with functions() as tools:
        await tools.guardian.aclose()
        outcome = await tools.call("noop")
        assert (outcome.kind, outcome.error_kind) == ("failed", "internal")
