"""Attempts in the supervisor's hands: starts that are refused, stops at every moment, faults, and the end of the worker."""

import asyncio
from typing import Any

import pytest

from tests.worker.harness import worker
from tests.worker.scripted import Fault, scripted_server

pytestmark = pytest.mark.timeout(30)


@pytest.mark.parametrize("code", ["stale_fence", "not_found", "session_expired"])
async def test_a_refused_start_never_runs_and_is_not_settled(code: str) -> None:
    async with scripted_server() as server, worker(server) as held:
        server.refuse_start["a"] = code
        await server.add("a")
        await server.add("b")
        await server.settled("b")
        await server.until(lambda: held.supervisor.held() == [])
        assert (held.runtime.started, server.runs["a"].settle) == (["b"], None)


async def test_a_run_that_was_cancelled_before_its_start_never_runs_and_is_settled_as_stopped() -> None:
    async with scripted_server() as server, worker(server) as held:
        server.refuse_start["a"] = "cancel_requested"
        await server.add("a")
        assert (await server.settled("a"))["outcome"] == "stopped"
        assert held.runtime.started == []


async def test_a_cancel_while_the_start_is_under_way_prevents_it() -> None:
    async with scripted_server() as server, worker(server) as held:
        server.faults["report"].append("hang")
        await server.add("a")
        await server.until(lambda: bool(server.bodies("report")))
        await server.until(lambda: server.last("claim").get("slots") == 3)
        await server.cancel("a")
        await server.until(lambda: held.slots.running == 0)
        server.hanging.set()
        assert (await server.settled("a"))["outcome"] == "stopped"
        assert held.runtime.started == []


async def test_a_start_that_the_store_could_not_take_is_asked_again() -> None:
    async with scripted_server() as server, worker(server) as held:
        server.refuse_start["a"] = "store_unavailable"
        await server.add("a")
        await server.until(lambda: len(server.bodies("report")) >= 2)
        del server.refuse_start["a"]
        await server.settled("a")
        assert held.runtime.ran == {"a": 1}


async def test_a_cancel_reaches_the_runtime_with_its_grace() -> None:
    async with scripted_server() as server, worker(server) as held:
        await server.add("a", arguments={"do": "wait"})
        await server.until(lambda: "a" in held.runtime.running)
        await server.cancel("a")
        settle = await server.settled("a")
        assert (settle["outcome"], settle["forced"]) == ("stopped", False)
        assert (held.runtime.stops["a"].why, held.runtime.stops["a"].grace_ms) == ("cancel", 1000)


async def test_a_cancel_whose_answer_got_lost_comes_with_the_next_heartbeat() -> None:
    async with scripted_server(heartbeat_ms=50) as server, worker(server, slots=1) as held:
        await server.add("a", arguments={"do": "wait"})
        await server.until(lambda: server.last("claim").get("slots") == 0 and "a" in held.runtime.running)
        server.faults["claim"].extend(["lose the request"] * 20)
        await server.stop()
        server.runs["a"].is_canceling = True
        await server.start()
        assert (await server.settled("a"))["outcome"] == "stopped"


@pytest.mark.parametrize(
    ("limit", "members"),
    [("attempt", {"timeoutMs": 50}), ("deadline", {"deadlineInMs": 50, "deadlineAt": "2001-01-01T00:00:00Z"})],
)
async def test_limits_stop_the_attempt(limit: str, members: dict[str, Any]) -> None:
    async with scripted_server() as server, worker(server):
        await server.add("a", arguments={"do": "wait"}, **members)
        settle = await server.settled("a")
        assert (settle["outcome"], settle["limit"]) == ("timed_out", limit)


async def test_a_far_deadline_is_no_trouble_whatever_the_wall_clock_says() -> None:
    async with scripted_server() as server, worker(server):
        members: dict[str, Any] = {"deadlineInMs": 10**12, "timeoutMs": 10**12, "deadlineAt": "2001-01-01T00:00:00Z"}
        await server.add("a", **members)
        assert (await server.settled("a"))["outcome"] == "succeeded"


async def test_a_fault_in_a_runtime_costs_its_own_attempt_only() -> None:
    async with scripted_server() as server, worker(server):
        await server.add("bad", arguments={"do": "raise"})
        await server.add("worse", arguments={"do": "return no JSON"})
        await server.add("foreign", runtime="unheard of")
        await server.add("good")
        assert (await server.settled("bad"))["error"] == {
            "kind": "internal",
            "message": "RuntimeError: the runtime broke",
        }
        assert "can't be written as JSON" in (await server.settled("worse"))["error"]["message"]
        assert "unheard of" in (await server.settled("foreign"))["error"]["message"]
        assert (await server.settled("good"))["outcome"] == "succeeded"


async def test_a_child_is_started_once_although_the_answer_got_lost() -> None:
    async with scripted_server() as server, worker(server) as held:
        await server.add("a", arguments={"do": "release"})
        await server.until(lambda: "a" in held.runtime.running)
        await held.link.flush()
        await server.add("b", arguments={"do": "child"})
        faults: list[Fault] = ["none", "lose the answer"]
        server.faults["report"].extend(faults)
        assert (await server.settled("b"))["result"] == "child-of-b"
        told = [report for body in server.bodies("report") for report in body["reports"] if report["kind"] == "child"]
        assert len({report["requestId"] for report in told}) == 1


async def test_claims_beyond_the_slots_are_given_back() -> None:
    async with scripted_server() as server, worker(server, slots=1) as held:
        await server.add("a", arguments={"do": "wait"})
        await server.until(lambda: "a" in held.runtime.running)
        held.supervisor.take([{**server.runs["a"].body, "runId": "extra", "attemptId": "x"}], 0)
        await server.until(lambda: any(r["runId"] == "extra" for b in server.bodies("report") for r in b["reports"]))
        assert server.last("report")["reports"][-1] | {"fence": 0} == {
            "runId": "extra",
            "fence": 0,
            "kind": "settle",
            "outcome": "released",
        }
        assert held.runtime.started == ["a"]


async def test_a_claim_that_comes_twice_runs_once() -> None:
    async with scripted_server() as server, worker(server, slots=2) as held:
        await server.add("a", arguments={"do": "release"})
        await server.until(lambda: "a" in held.runtime.running)
        held.slots.running += 1
        held.supervisor.take([server.runs["a"].body], 1)
        held.runtime.release.set()
        await server.settled("a")
        await server.until(lambda: held.slots.running == 0)
        assert held.runtime.ran == {"a": 1}


async def test_a_drain_lets_attempts_end_by_themselves() -> None:
    async with scripted_server() as server, worker(server) as held:
        await server.add("a", arguments={"do": "release"})
        await server.until(lambda: "a" in held.runtime.running)
        draining = asyncio.create_task(held.supervisor.drain(10))
        await server.until(lambda: server.last("claim").get("slots") == 0)
        await server.add("late")
        held.runtime.release.set()
        await draining
        await held.link.flush()
        assert (await server.settled("a"))["outcome"] == "succeeded"
        assert "late" not in server.runs


async def test_a_drain_gives_back_what_does_not_end_in_time() -> None:
    async with scripted_server() as server, worker(server) as held:
        for name in "abc":
            await server.add(name, arguments={"do": "wait"})
        await server.until(lambda: len(held.runtime.running) == 3)
        await held.supervisor.drain(0)
        await held.link.flush()
        assert [(await server.settled(name))["outcome"] for name in "abc"] == ["released"] * 3
        assert {stop.why for stop in held.runtime.stops.values()} == {"drain"}


async def test_a_drain_is_bounded_although_an_attempt_ignores_its_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringback.worker.supervisor.STOP_GRACE_MS", 10)
    monkeypatch.setattr("ringback.worker.supervisor.KILL_WITHIN_S", 0.05)
    async with scripted_server() as server, worker(server) as held:
        await server.add("a", arguments={"do": "ignore the stop"})
        await server.until(lambda: "a" in held.runtime.running)
        await asyncio.wait_for(held.supervisor.drain(0), 5)
        assert held.runtime.running == set()
        assert server.runs["a"].settle is None


async def test_what_is_claimed_while_draining_is_given_back() -> None:
    async with scripted_server() as server:
        server.faults["claim"].append("hang")
        async with worker(server) as held:
            await server.until(lambda: bool(server.bodies("claim")))
            held.slots.close()
            await server.add("a")
            server.hanging.set()
            await server.until(lambda: len(server.bodies("claim")) >= 2)
            assert held.runtime.started == []


async def test_a_settle_is_a_failure_that_says_so_when_the_server_cannot_take_it() -> None:
    async with scripted_server() as server, worker(server) as held:
        await server.add("a", arguments={"do": "release"})
        await server.until(lambda: "a" in held.runtime.running)
        await held.link.flush()
        server.faults["report"].append(413)
        held.runtime.release.set()
        settle = await server.settled("a")
        assert (settle["outcome"], settle["retryable"]) == ("failed", False)
