"""The http runtime against real servers that play the job APIs of this world: what it sends, follows and brings."""

import asyncio
import json

import pytest

from tests.http_tools.attempt import SECRET, tried
from tests.http_tools.other_side import JobApi, OtherSide, Say, done, running

HEADERS = {"Authorization": "Bearer {secret:API_TOKEN}"}


async def test_an_answer_at_once_is_the_result() -> None:
    answers = {
        "/json": Say(200, {"a": [1, {"b": None}]}),
        "/text": Say(200, "grüß dich".encode(), {"content-type": "text/plain"}),
        "/nothing": Say(204),
    }
    with OtherSide(lambda seen: answers[seen.path]) as api:
        for path, result in (("/json", {"a": [1, {"b": None}]}), ("/text", "grüß dich"), ("/nothing", None)):
            async with tried() as it:
                outcome = await it.run({"url": api.url + path})
                assert (outcome.kind, outcome.result) == ("succeeded", result)


async def test_values_stay_in_their_places() -> None:
    http = {
        "url": "{base}/v1/{team}/jobs",
        "query": {"tag": "{tags}", "mode": "fast&x=1", "absent": "{note}"},
        "headers": {**HEADERS, "X-Team": "team {team}"},
        "body": {
            "n": "{n}",
            "options": "{options}",
            "text": "{team}/{n}",
            "note": "{note}",
            "key": "{idempotency_key}",
        },
    }
    arguments = {"team": "a/../b?x=1#y", "tags": ["p q", "r&s"], "n": 3, "options": {"deep": [True]}}
    with OtherSide(lambda _: Say(200, {})) as api:
        async with tried() as it:
            outcome = await it.run({**http, "url": f"{api.url}/v1/{{team}}/jobs"}, arguments)
        assert outcome.kind == "succeeded"
        (seen,) = api.seen
    assert seen.path == "/v1/a%2F..%2Fb%3Fx%3D1%23y/jobs?tag=p%20q&tag=r%26s&mode=fast%26x%3D1"
    assert (seen.headers["authorization"], seen.headers["x-team"]) == (f"Bearer {SECRET}", "team a/../b?x=1#y")
    assert seen.json == {"n": 3, "options": {"deep": [True]}, "text": "a/../b?x=1#y/3", "key": "run-1"}
    assert seen.headers["idempotency-key"] == "run-1"


async def test_location_is_followed_with_progress_to_the_result() -> None:
    with JobApi() as api:
        api.show(running(progress={"done": 1, "total": 4, "message": "warming up"}), Say(202), done({"rows": 12}))
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs", "headers": HEADERS}, {"scene": "a", "frames": 7})
            assert (outcome.kind, outcome.result) == ("succeeded", {"rows": 12})
            assert it.server.of("progress")[0] == [1, 4, "warming up"]
            assert it.server.checkpoints[-1]["statusUrl"] == f"{api.url}/jobs/1"
            assert "202 accepted; following" in it.server.text("stderr")
        assert api.asked("POST")[0].json == {"scene": "a", "frames": 7}
        assert all(seen.headers["authorization"] == f"Bearer {SECRET}" for seen in api.seen)
        assert all("idempotency-key" not in seen.headers for seen in api.asked("GET"))


async def test_azure_operation_location_and_its_resource() -> None:
    accepted = Say(202, None, {"Operation-Location": "/operations/9", "Location": "/wrong", "Retry-After": "0"})
    with JobApi(lambda _: accepted) as api:
        looks = iter([Say(200, {"status": "InProgress", "percentComplete": 40})])
        final = Say(200, {"status": "Succeeded", "resourceLocation": f"{api.url}/vm/1"})
        play = api.play
        api.play = lambda seen: next(looks, final) if seen.path == "/operations/9" else play(seen)
        api.more["GET /vm/1"] = Say(200, {"name": "vm 1"})
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs", "follow": {"style": "azure"}})
            assert (outcome.kind, outcome.result) == ("succeeded", {"name": "vm 1"})
            assert it.server.of("progress")[0][0] == 40


async def test_google_operations() -> None:
    with JobApi(lambda _: Say(200, {"name": "operations/x 1", "metadata": {}})) as api:
        looks = iter([Say(200, {"name": "operations/x 1", "metadata": {"progressPercent": 50}})])
        ended = Say(200, {"name": "operations/x 1", "done": True, "response": {"ok": 1}})
        api.play = lambda seen: Say(200, {"name": "operations/x 1"}) if seen.method == "POST" else next(looks, ended)
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs", "follow": {"style": "google"}})
            assert (outcome.kind, outcome.result) == ("succeeded", {"ok": 1})
        assert {seen.path for seen in api.asked("GET")} == {"/v1/operations/x%201"}
        ended = Say(200, {"name": "operations/x 1", "done": True, "error": {"code": 3, "message": "no such bucket"}})
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs", "follow": {"style": "google"}})
            assert (outcome.kind, outcome.error_message) == ("failed", "the job ended as true: no such bucket")


async def test_batches_like_openai() -> None:
    with JobApi(lambda _: Say(200, {"id": "batch_1", "status": "validating"})) as api:
        counts = {"total": 10, "completed": 4}
        looks = iter([Say(200, {"id": "batch_1", "status": "in_progress", "request_counts": counts})])
        final = Say(200, {"id": "batch_1", "status": "completed", "output_file_id": "file-7"})
        play = api.play
        api.play = lambda seen: next(looks, final) if seen.path == "/jobs/batch_1" else play(seen)
        api.more["GET /files/file-7/content"] = Say(200, b'{"custom_id":"a"}\n{"custom_id":"b"}\n')
        follow = {"style": "openai", "resultUrl": "/files/{/output_file_id}/content"}
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs", "follow": follow})
            assert outcome.result == '{"custom_id":"a"}\n{"custom_id":"b"}\n'
            assert it.server.of("progress")[0][:2] == [4, 10]


async def test_own_words_and_pointers() -> None:
    follow = {
        "on": [200],
        "location": "/job/links/0/href",
        "state": "/job/phase",
        "running": ["Brewing"],
        "done": ["Served"],
        "failed": ["Spilt"],
        "error": "/job/why",
        "result": "/job/cup",
    }
    with JobApi(lambda job: Say(200, {"job": {"links": [{"href": f"/jobs/{job}"}], "phase": "Brewing"}})) as api:
        api.show(Say(200, {"job": {"phase": "Brewing"}}), Say(200, {"job": {"phase": "served", "cup": "tea"}}))
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs", "follow": follow})
            assert (outcome.kind, outcome.result) == ("succeeded", "tea")
        api.show(Say(200, {"job": {"phase": "Spilt", "why": "too hot"}}))
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs", "follow": follow})
            assert (outcome.kind, outcome.error_message) == ("failed", "the job ended as Spilt: too hot")
            assert it.server.checkpoints[-1] == {"phase": "over", "start": 1}
        api.show(Say(200, {"job": {"phase": "Percolating"}}))
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs", "follow": {**follow, "patienceS": 0}})
            assert "unknown state 'Percolating'" in (outcome.error_message or "")


async def test_see_other_leads_to_the_result() -> None:
    with JobApi() as api:
        api.show(Say(200), Say(303, None, {"Location": "/results/1"}))
        api.shown[0] = Say(202)
        api.more["GET /results/1"] = Say(200, b"a,b\n1,2\n", {"content-type": "text/csv"})
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs"})
            assert (outcome.kind, outcome.result) == ("succeeded", "a,b\n1,2\n")


async def test_trouble_on_the_way_is_no_news_about_the_job() -> None:
    trouble = [running(), Say(500, b"<html>"), Say(429, None, {"Retry-After": "1"}), Say(200, b"not { json"), Say(503)]
    with JobApi() as api:
        api.show(*trouble, done("fine"))
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs"})
            assert (outcome.kind, outcome.result) == ("succeeded", "fine")
        looks = api.asked("GET")
        assert looks[3].at - looks[2].at >= 1.0  # Retry-After is a least time
        assert len(api.started) == 1


@pytest.mark.parametrize(
    ("say", "told"),
    [
        (Say(200, b"<html>back soon</html>"), "its status says no state"),
        (Say(401), "its status was answered 401"),
        (Say(404), "its status is gone (404)"),
        (Say(200, b"x" * 5000), "the answer has more than 4000 bytes"),
        (Say(hangs=True), "no answer within 0.3 s"),
    ],
    ids=["garbage", "unauthorized", "gone", "huge", "hang"],
)
async def test_a_job_that_can_not_be_followed_fails_the_attempt_and_is_kept(say: Say, told: str) -> None:
    with JobApi() as api:
        api.show(running(), say)
        http = {"url": f"{api.url}/jobs", "answerBytes": 4000, "timeoutS": 0.3, "follow": {"patienceS": 0.5}}
        async with tried() as it:
            outcome = await it.run(http)
            assert outcome.kind == "failed"
            assert told in (outcome.error_message or "")
            assert it.server.checkpoints[-1]["phase"] == "following"


async def test_a_later_attempt_goes_on_with_the_same_job() -> None:
    with JobApi() as api:
        api.show(running(), done(7))
        kept = {"phase": "following", "start": 1, "url": f"{api.url}/jobs", "statusUrl": f"{api.url}/jobs/1"}
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs"}, checkpoint=kept)
            assert (outcome.kind, outcome.result) == ("succeeded", 7)
        assert api.started == []


async def test_a_start_in_doubt_is_not_repeated_unless_it_may_be() -> None:
    with JobApi() as api:
        api.show(done(7))
        sending = {"phase": "sending", "start": 1}
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs"}, checkpoint=sending)
            assert (outcome.kind, outcome.retryable) == ("failed", False)
            assert "whether the work has begun is unknown" in (outcome.error_message or "")
        assert api.started == []
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs"}, checkpoint=sending, policy={"idempotent": True})
            assert outcome.kind == "succeeded"
        assert [seen.headers["idempotency-key"] for seen in api.asked("POST")] == ["run-1"]


async def test_after_a_job_that_is_over_another_one_is_started_under_another_key() -> None:
    with JobApi() as api:
        api.show(done(7))
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs"}, checkpoint={"phase": "over", "start": 1})
            assert outcome.kind == "succeeded"
        assert [seen.headers["idempotency-key"] for seen in api.asked("POST")] == ["run-1-2"]


@pytest.mark.parametrize(
    ("say", "phase", "is_retryable"),
    [
        (Say(500, {"error": {"message": "boom"}}), "sending", False),
        (Say(400, {"error": {"message": "no scene"}}), "new", False),
        (Say(hangs=True), "sending", False),
        (Say(200, b"x" * 5000), "sending", False),
    ],
    ids=["500", "400", "hang", "huge"],
)
async def test_a_start_that_failed_says_whether_the_work_may_have_begun(
    say: Say, phase: str, is_retryable: bool
) -> None:
    with JobApi(lambda _: say) as api:
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs", "timeoutS": 0.3, "answerBytes": 4000})
            assert (outcome.kind, outcome.retryable) == ("failed", is_retryable)
            assert it.server.checkpoints[-1] == {"phase": phase, "start": 1}
            assert ("whether the work has begun is unknown" in (outcome.error_message or "")) is (phase == "sending")
        assert len(api.seen) == 1


async def test_nobody_listens() -> None:
    with OtherSide() as gone:
        url = gone.url
    async with tried() as it:
        outcome = await it.run({"url": f"{url}/jobs"})
        assert (outcome.kind, outcome.retryable) == ("failed", True)
        assert it.server.checkpoints[-1] == {"phase": "new", "start": 1}


async def test_a_busy_start_is_sent_again_when_it_was_asked_to() -> None:
    says = iter([Say(429, None, {"Retry-After": "1"}), Say(503, None, {"Retry-After": "0"})])
    ready = Say(202, {}, {"Location": "/jobs/1"})
    with JobApi(lambda _: next(says, ready)) as api:
        api.show(done(1))
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs"})
            assert outcome.kind == "succeeded"
        first, second, *_ = api.asked("POST")
        assert second.at - first.at >= 1.0


async def test_links_stay_with_their_origin_and_secrets_do_so_always() -> None:
    with OtherSide(lambda _: Say(200, {"status": "done", "result": "foreign"})) as foreign, JobApi() as api:
        http = {"url": f"{api.url}/jobs", "headers": {**HEADERS, "X-Plain": "p"}}
        api.accepted = lambda _: Say(202, {}, {"Location": f"{foreign.url}/jobs/1"})
        async with tried() as it:
            outcome = await it.run(http)
            assert (outcome.kind, outcome.retryable) == ("failed", False)
            assert "which the tool does not allow" in (outcome.error_message or "")
        api.accepted = lambda _: Say(202, {}, {"Location": api.url.replace("://", "://x@") + "/jobs/1"})
        async with tried() as it:
            assert (await it.run(http)).kind == "failed"
        api.accepted = lambda _: Say(307, None, {"Location": f"{foreign.url}/jobs"})
        async with tried() as it:
            assert (await it.run(http)).kind == "failed"
        async with tried() as it:  # even where the origin is allowed: the body was meant for the first one
            assert (await it.run({**http, "origins": [foreign.url]}, {"a": 1})).kind == "failed"
        assert foreign.seen == []
        api.accepted = lambda job: Say(202, {}, {"Location": f"/jobs/{job}"})
        api.show(Say(302, None, {"Location": f"{foreign.url}/status"}))
        async with tried() as it:
            outcome = await it.run({**http, "origins": [foreign.url]})
            assert outcome.result == "foreign"
        sent = json.dumps(dict(foreign.seen[0].headers))
    assert SECRET not in sent
    assert "x-plain" not in sent
    assert "run-1" not in sent


async def test_redirects_end() -> None:
    with OtherSide(lambda seen: Say(302, None, {"Location": seen.path + "x"})) as api:
        async with tried() as it:
            outcome = await it.run({"method": "GET", "url": f"{api.url}/a"})
            assert "more than 5 redirects" in (outcome.error_message or "")


async def test_secrets_and_callback_tokens_are_masked_wherever_they_come_back() -> None:
    with JobApi() as api:
        api.show(
            running(message=f"hello {SECRET}"), Say(200, {"status": "failed", "error": f"bad {SECRET} token-of-1"})
        )
        http = {
            "url": f"{api.url}/jobs",
            "headers": HEADERS,
            "callback": True,
            "body": {"hook": "{callback_url}"},
        }
        async with tried() as it:
            outcome = await it.run(http)
            shown = f"{outcome} {it.server.of('progress')} {it.server.text('stderr')}"
        assert outcome.error_message == "the job ended as failed: bad *** ***"
        assert SECRET not in shown
        assert api.asked("POST")[0].json == {"hook": "http://ringback.invalid:7878/callbacks/job_1/token-of-1"}


async def test_a_callback_ends_the_wait() -> None:
    with JobApi(lambda _: Say(202)) as api:
        http = {"url": f"{api.url}/jobs", "callback": {"secret": "HOOK"}, "body": {"hook": "{callback_url}"}}
        async with tried() as it:
            running_attempt = asyncio.ensure_future(it.run(http))
            await it.server.until(lambda server: "waiting to be called" in server.text("stderr"))
            it.server.deliver('{"status": "completed", "result": {"n": 5}}')
            outcome = await running_attempt
            assert (outcome.kind, outcome.result) == ("succeeded", {"n": 5})
            assert set(it.server.opened) == {(1, "HOOK")}
        async with tried() as it:
            it.server.deliver('{"status": "running"}')
            outcome = await it.run(http)
            assert (outcome.kind, outcome.retryable) == ("failed", False)
        async with tried() as it:
            it.server.deliver("report is ready")
            assert (await it.run(http)).result == "report is ready"


async def test_a_callback_without_a_state_makes_the_attempt_look() -> None:
    with JobApi() as api:
        api.show(running())
        follow = {"intervalS": 60, "intervalMaxS": 60}
        http = {"url": f"{api.url}/jobs", "callback": True, "body": {"hook": "{callback_url}"}, "follow": follow}
        async with tried() as it:
            running_attempt = asyncio.ensure_future(it.run(http))
            await it.server.until(lambda server: "accepted" in server.text("stderr"))
            api.show(done("looked"))
            it.server.deliver("{}")
            assert (await running_attempt).result == "looked"
