"""The link against a server that loses answers, is away, slow or strict."""

import asyncio
import random
from itertools import pairwise

import pytest

from ringback.worker.batching import LANE_BYTES, TOTAL_BYTES
from ringback.worker.channel import NotAllowedError
from ringback.worker.connection import Address
from ringback.worker.link import Link
from tests.worker.harness import Worker, worker
from tests.worker.scripted import Fault, scripted_server

FAULTS: tuple[Fault, ...] = ("lose the answer", "lose the request", 503)
pytestmark = pytest.mark.timeout(30)


async def test_a_run_goes_through() -> None:
    async with scripted_server() as server, worker(server):
        await server.add("a", arguments={"x": 1})
        settle = await server.settled("a")
        assert (settle["outcome"], settle["result"]) == ("succeeded", {"x": 1})


async def test_a_wrong_token_is_an_error_at_once() -> None:
    async with scripted_server() as server:
        built = Worker(server)
        link = Link(
            address=Address.parse(server.url), token="wrong", identity={}, outbox=built.outbox, slots=built.slots
        )
        with pytest.raises(NotAllowedError):
            await link.attach()
        await link.detach()


async def test_attach_waits_for_a_server_that_is_not_up_yet() -> None:
    async with scripted_server() as server:
        await server.stop()
        built = Worker(server)
        attaching = asyncio.create_task(built.link.attach())
        await asyncio.sleep(0)
        await server.start()
        session = await asyncio.wait_for(attaching, 10)
        assert session.session_id == "s0"
        await built.link.detach()
        assert server.detached == ["s0"]


@pytest.mark.parametrize("fault", ["lose the answer", "lose the request", 503, 429])
async def test_reports_are_repeated_until_they_are_answered(fault: Fault) -> None:
    async with scripted_server() as server, worker(server):
        server.faults["report"].extend([fault] * 3)
        await server.add("a", arguments={"do": "count", "to": 20})
        await server.settled("a")
        assert server.runs["a"].output == b"".join(b"%d\n" % number for number in range(20))


async def test_a_lost_answer_in_the_middle_repeats_the_same_batch() -> None:
    async with scripted_server() as server, worker(server) as held:
        await server.add("a", arguments={"do": "release"})
        await server.until(lambda: bool(held.runtime.started))
        server.faults["report"].extend(["lose the answer", "lose the answer"])
        held.runtime.release.set()
        await server.settled("a")
        await asyncio.wait_for(held.link.flush(), 10)
        settles = [body for body in server.bodies("report") if body["reports"][-1]["kind"] == "settle"]
        assert len(settles) == 3
        assert all(one["batch"] == other["batch"] for one, other in pairwise(settles))


async def test_a_lost_claim_answer_leaves_the_slots_free() -> None:
    async with scripted_server() as server:
        server.faults["claim"].append("lose the answer")
        async with worker(server, slots=2):
            await server.add("lost")
            await server.until(lambda: len(server.bodies("claim")) >= 2)
            server.runs["lost"].status = "lost"
            await server.add("next")
            await server.settled("next")


async def test_events_of_one_attempt_keep_their_order_and_come_before_the_settle() -> None:
    async with scripted_server() as server, worker(server, slots=8):
        for number in range(8):
            await server.add(f"r{number}", arguments={"do": "count", "to": 200})
        for number in range(8):
            await server.settled(f"r{number}")
        kinds: dict[str, list[tuple[str, int]]] = {}
        for body in server.bodies("report"):
            for report in body["reports"]:
                kinds.setdefault(report["runId"], []).append((report["kind"], report.get("seq", 0)))
        for sent in kinds.values():
            assert sent[0][0] == "start"
            assert sent[-1][0] == "settle"
            seqs = [seq for kind, seq in sent if kind == "events"]
            assert seqs == list(range(1, len(seqs) + 1))


async def test_progress_is_thinned_out_and_the_last_one_comes() -> None:
    async with scripted_server() as server, worker(server):
        await server.add("a", arguments={"do": "count", "to": 500})
        await server.settled("a")
        done = [event["done"] for event in server.runs["a"].events if event["type"] == "progress"]
        assert done[-1] == 499
        assert len(done) < 50


async def test_output_waits_for_the_server_in_bounded_memory() -> None:
    async with scripted_server() as server, worker(server, slots=8) as held:
        for number in range(4):
            await server.add(f"r{number}", arguments={"do": "flood"})
        await server.until(lambda: len(held.runtime.started) == 4)
        server.faults["report"].append("hang")
        seen = -1
        while seen != held.runtime.flooded:
            seen = held.runtime.flooded
            for _ in range(200):
                await asyncio.sleep(0)
        assert held.outbox.size <= min(TOTAL_BYTES, 4 * LANE_BYTES) + 4 * 90_000
        server.hanging.set()
        for number in range(4):
            await server.cancel(f"r{number}")
            await server.settled(f"r{number}")
        assert {len(run.output) % 65536 for run in server.runs.values()} == {0}


async def test_a_flood_does_not_hold_back_the_settle_of_another() -> None:
    async with scripted_server() as server, worker(server) as held:
        await server.add("flood", arguments={"do": "flood"})
        await server.until(lambda: held.runtime.flooded > 4 * LANE_BYTES)
        before = held.runtime.flooded
        await server.add("quick")
        await server.settled("quick")
        assert held.runtime.flooded - before < 16 * LANE_BYTES


async def test_an_expired_session_kills_its_work_and_attaches_anew() -> None:
    async with scripted_server() as server, worker(server) as held:
        await server.add("old", arguments={"do": "wait"})
        await server.until(lambda: "old" in held.runtime.running)
        await server.expire()
        await server.until(lambda: len(server.sessions) == 2)
        assert held.runtime.stops["old"].why == "lost"
        assert server.runs["old"].settle is None
        await server.add("new")
        await server.settled("new")
        assert server.runs["new"].session == "s1"
        assert "runtimeConnectionId" not in server.sessions["s0"]
        went_on = {name: server.sessions["s1"][name] for name in ("runtimeConnectionId", "connectionEpoch")}
        assert went_on == {"runtimeConnectionId": "c0", "connectionEpoch": 0}
        kept = [report for body in server.bodies("report") for report in body["reports"] if report["runId"] == "old"]
        assert {report["kind"] for report in kept} == {"start"}


async def test_what_the_server_calls_lost_is_killed_without_a_settle() -> None:
    async with scripted_server(heartbeat_ms=50) as server, worker(server) as held:
        await server.add("a", arguments={"do": "wait"})
        await server.until(lambda: "a" in held.runtime.running)
        server.runs["a"].status = "lost"
        await server.until(lambda: server.last("heartbeat").get("held") == [] and not held.runtime.running)
        assert held.runtime.stops["a"].why == "lost"
        assert server.runs["a"].settle is None


async def test_a_lease_that_ran_out_by_the_own_clock_kills_the_work_and_keeps_the_results() -> None:
    async with scripted_server(lease_ms=600, heartbeat_ms=100) as server, worker(server) as held:
        await server.add("long", arguments={"do": "wait"})
        await server.add("ready", arguments={"do": "release"})
        await server.until(lambda: len(held.runtime.running) == 2)
        await server.stop()
        held.runtime.release.set()
        await asyncio.wait_for(held.runtime.stops["long"].requested.wait(), 10)
        assert held.runtime.stops["long"].why == "lost"
        await server.start()
        assert (await server.settled("ready"))["outcome"] == "succeeded"
        await server.until(lambda: server.last("heartbeat").get("held") == [])
        assert server.runs["long"].settle is None
        await server.add("after")
        await server.settled("after")


async def test_results_are_kept_while_the_server_is_away() -> None:
    async with scripted_server() as server, worker(server) as held:
        for name in "abcd":
            await server.add(name, arguments={"do": "release"})
        await server.until(lambda: len(held.runtime.running) == 4)
        await server.stop()
        held.runtime.release.set()
        await asyncio.wait_for(held.runtime.at_rest.wait(), 10)
        await server.start()
        for name in "abcd":
            assert (await server.settled(name))["outcome"] == "succeeded"


async def test_a_report_that_the_server_cannot_take_costs_only_its_attempt() -> None:
    async with scripted_server() as server, worker(server) as held:
        for name in "ab":
            await server.add(name, arguments={"do": "release"})
        await server.until(lambda: len(held.runtime.running) == 2)
        await held.link.flush()
        server.faults["report"].extend([413, 413])
        held.runtime.release.set()
        outcomes = [await server.settled(name) for name in "ab"]
        assert sorted(one["outcome"] for one in outcomes) == ["failed", "succeeded"]
        failed = next(one for one in outcomes if one["outcome"] == "failed")
        assert "413" in failed["error"]["message"]


async def test_a_full_worker_listens_for_cancels_and_offers_a_slot_as_soon_as_one_is_free() -> None:
    async with scripted_server() as server, worker(server, slots=1) as held:
        await server.add("a", arguments={"do": "wait"})
        await server.until(lambda: server.last("claim").get("slots") == 0)
        await server.cancel("a")
        assert (await server.settled("a"))["outcome"] == "stopped"
        await server.until(lambda: server.last("claim").get("slots") == 1)
        await server.add("b")
        await server.settled("b")
        assert held.runtime.most_running == 1


@pytest.mark.parametrize("seed", range(3))
async def test_slots_are_never_exceeded(seed: int) -> None:
    rng = random.Random(seed)
    async with scripted_server(heartbeat_ms=20) as server, worker(server, slots=3) as held:
        names = [f"r{number}" for number in range(60)]
        for name in names:
            await server.add(name, arguments={"do": "count", "to": rng.randrange(5)})
            for _ in range(rng.randrange(40)):
                await asyncio.sleep(0)
            server.faults["report"].append(rng.choice(FAULTS) if rng.random() < 0.2 else "none")
        for name in names:
            await server.settled(name)
        assert held.runtime.most_running <= 3
        assert held.runtime.ran == dict.fromkeys(names, 1)
        await held.link.flush()
        async with asyncio.timeout(60):
            while held.supervisor.held():  # each forgets its attempt once it has heard the answer
                await asyncio.sleep(0)
        assert held.slots.running == 0
