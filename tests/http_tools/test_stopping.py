"""Stops of the http runtime: what the other side says about them is what is told, and no more."""

import asyncio
from typing import Any

import pytest

from ringback.worker.assignment import Outcome, StopReason
from tests.http_tools.attempt import Tried, tried
from tests.http_tools.other_side import JobApi, Say, done, running


async def stopped(
    it: Tried, api: JobApi, why: StopReason = "cancel", *, grace_ms: int = 20_000, **http: Any
) -> Outcome:
    """The outcome of an attempt that is stopped while its job runs."""
    api.show(running())
    attempt = asyncio.ensure_future(it.run({"url": f"{api.url}/jobs", **http}))
    await it.server.until(lambda server: "the job is running" in server.text("stderr"))
    it.stop.request(why, grace_ms=grace_ms)
    return await attempt


def evidence(it: Tried) -> list[str]:
    return [event[0] for event in it.server.events if event[0].startswith("cancel")]


async def test_a_stop_is_acknowledged_when_the_status_says_so() -> None:
    with JobApi() as api:

        def accept(_: object) -> Say:
            api.show(running(), Say(200, {"status": "cancelling"}), Say(200, {"status": "canceled"}))
            return Say(202)

        api.on_delete = accept
        async with tried() as it:
            outcome = await stopped(it, api)
            assert (outcome.kind, outcome.forced) == ("stopped", False)
            assert evidence(it) == ["cancel_delivered", "cancel_acknowledged"]
            assert it.server.checkpoints[-1] == {"phase": "over", "start": 1}
        assert [seen.path for seen in api.asked("DELETE")] == ["/jobs/1"]


async def test_a_stop_is_acknowledged_when_the_job_was_removed() -> None:
    with JobApi() as api:

        def remove(_: object) -> Say:
            api.show(Say(404))
            return Say(204)

        api.on_delete = remove
        async with tried() as it:
            outcome = await stopped(it, api)
            assert outcome.kind == "stopped"
            assert evidence(it) == ["cancel_delivered", "cancel_acknowledged"]


@pytest.mark.parametrize("status", [404, 405])
async def test_a_refused_stop_is_unconfirmed(status: int) -> None:
    with JobApi() as api:
        api.on_delete = lambda _: Say(status)
        async with tried() as it:
            outcome = await stopped(it, api, grace_ms=600)
            assert (outcome.kind, evidence(it)) == ("released", [])
            assert outcome.error_message == f"the stop was answered {status}, and the job may still run"
            assert it.server.checkpoints[-1]["phase"] == "following"
        assert len(api.asked("DELETE")) == 1


async def test_a_stop_that_was_taken_and_has_no_effect_is_unconfirmed() -> None:
    with JobApi() as api:
        api.on_delete = lambda _: Say(202)
        async with tried() as it:
            outcome = await stopped(it, api, grace_ms=600)
            assert (outcome.kind, evidence(it)) == ("released", ["cancel_delivered"])


async def test_a_stop_that_can_not_be_taken_now_is_sent_again() -> None:
    says = iter([Say(503), Say(429, None, {"Retry-After": "0"}), Say(409)])
    with JobApi() as api:
        api.on_delete = lambda _: next(says, Say(200, {"status": "cancelled"}))
        async with tried() as it:
            outcome = await stopped(it, api)
            assert (outcome.kind, evidence(it)) == ("stopped", ["cancel_delivered", "cancel_acknowledged"])
        assert len(api.asked("DELETE")) == 4


async def test_a_job_that_was_done_first_has_its_result() -> None:
    with JobApi() as api:

        def late(_: object) -> Say:
            api.show(done("ready"))
            return Say(409)

        api.on_delete = late
        async with tried() as it:
            outcome = await stopped(it, api)
            assert (outcome.kind, outcome.result, evidence(it)) == ("succeeded", "ready", [])


async def test_a_stop_by_another_method_at_another_place() -> None:
    with JobApi() as api:
        api.more["POST /jobs/1/cancel"] = Say(200, {"status": "cancelled"})
        async with tried() as it:
            follow = {"cancelMethod": "POST", "cancelUrl": "{@status}/cancel"}
            assert (await stopped(it, api, follow=follow)).kind == "stopped"
        assert api.asked("DELETE") == []


@pytest.mark.parametrize(("said", "kind"), [("cancelled", "stopped"), ("done", "succeeded"), ("failed", "failed")])
async def test_a_callback_tells_what_became_of_a_stop(said: str, kind: str) -> None:
    with JobApi(lambda job: Say(202, {"id": job})) as api:
        http = {
            "url": f"{api.url}/jobs",
            "callback": True,
            "body": {"hook": "{callback_url}"},
            "follow": {"cancelUrl": "{@url}/{/id}"},
        }
        async with tried() as it:

            def accept(_: object) -> Say:
                it.server.deliver(f'{{"status": "{said}"}}')
                return Say(202)

            api.on_delete = accept
            attempt = asyncio.ensure_future(it.run(http))
            await it.server.until(lambda server: "waiting to be called" in server.text("stderr"))
            it.stop.request("cancel", grace_ms=20_000)
            assert (await attempt).kind == kind
            assert ("cancel_acknowledged" in evidence(it)) is (said == "cancelled")
        assert [seen.path for seen in api.asked("DELETE")] == ["/jobs/1"]


async def test_an_api_without_a_stop() -> None:
    with JobApi() as api:
        async with tried() as it:
            outcome = await stopped(it, api, grace_ms=300, follow={"cancelMethod": "none"})
            assert outcome.kind == "released"
            assert outcome.error_message == "the other side has no way to stop it, and the job may still run"


async def test_a_limit_of_time_stops_the_job() -> None:
    with JobApi() as api:
        api.on_delete = lambda _: Say(200, {"status": "cancelled"})
        async with tried() as it:
            outcome = await stopped(it, api, "timeout:attempt")
            assert (outcome.kind, outcome.limit, outcome.forced) == ("timed_out", "attempt", False)
            assert evidence(it) == []
        async with tried() as it:
            api.on_delete = lambda _: Say(405)
            outcome = await stopped(it, api, "timeout:deadline", grace_ms=300)
            assert (outcome.kind, outcome.limit, outcome.forced) == ("timed_out", "deadline", True)
            assert "the job may still run" in (outcome.error_message or "")


async def test_a_job_that_shows_nothing_new_for_too_long() -> None:
    with JobApi() as api:
        api.show(running())
        api.on_delete = lambda _: Say(200, {"status": "cancelled"})
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs"}, idle_timeout_ms=300, grace_ms=20_000)
            assert (outcome.kind, outcome.limit) == ("timed_out", "idle")


@pytest.mark.parametrize("why", ["drain", "lost"])
async def test_a_worker_that_leaves_lets_the_job_run(why: StopReason) -> None:
    with JobApi() as api:
        async with tried() as it:
            assert (await stopped(it, api, why)).kind == "released"
            assert it.server.checkpoints[-1]["phase"] == "following"
        assert api.asked("DELETE") == []
