"""The client against a real server: typed results, errors, streams across a restart, both ways of waiting."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ringback.client import (
    AsyncRingback,
    Event,
    IdempotencyConflictError,
    InvalidInputError,
    JobCancelledError,
    NotFinishedError,
    NotFoundError,
    RetryPolicy,
    Ringback,
    StillRunningError,
    UnauthorizedError,
)
from tests.cli.command import ringback
from tests.cli.living import Living, living

PATIENT = RetryPolicy(tries_max=30, longest_s=0.5)


@pytest.fixture(scope="module")
def rb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    with living(tmp_path_factory.mktemp("client")) as running:
        yield running


@pytest.fixture
def client(rb: Living) -> Iterator[Ringback]:
    with Ringback(data=rb.data) as made:
        yield made


def test_a_job_from_start_to_end(client: Ringback) -> None:
    job = client.start("say", {"text": "héllo"}, tags=["a", "b"], priority=1, timeout=timedelta(minutes=1))
    ended = job.wait(30)
    assert (ended.status, ended.tool, ended.tags, ended.is_final) == ("done", "say", ("a", "b"), True)
    assert ended.created_at is not None
    assert ended.created_at.tzinfo is not None
    result = job.result()
    assert (result.output, result.exit_code, result.is_complete) == ("héllo\n", 0, True)
    assert job.output() == job.output("stdout") == "héllo\n".encode()
    assert job.output("stderr") == b""
    events = list(job.events())
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert b"".join(event.output or b"" for event in events) == "héllo\n".encode()
    assert list(job.events(after=events[-1].sequence)) == []
    assert [event.sequence for event in job.events(after=2)] == [event.sequence for event in events[2:]]
    assert job.replay().is_identical
    assert job.stop().status == "done", "stopping a finished job changes nothing"


def test_failures_are_statuses_and_not_errors(client: Ringback) -> None:
    failed = client.start("say", {"text": "x", "code": 4}).wait(30)
    assert (failed.status, failed.failure_kind, failed.is_timed_out) == ("failed", "tool_error", False)
    late = client.start("wait", total_timeout=0.2).wait(30)
    assert (late.status, late.is_timed_out, late.time_limit) == ("failed", True, "deadline")


def test_a_job_that_is_stopped(client: Ringback) -> None:
    job = client.start("wait")
    with pytest.raises(StillRunningError):
        job.wait(0.1)
    with pytest.raises(NotFinishedError) as unfinished:
        job.result()
    assert unfinished.value.request_id
    job.stop("enough")
    assert job.wait(30).status == "cancelled"
    with pytest.raises(JobCancelledError):
        job.result()


def test_errors_say_what_is_wrong(client: Ringback, rb: Living) -> None:
    with pytest.raises(InvalidInputError) as caught:
        client.start("say", {"code": "x"})
    assert {flaw.pointer for flaw in caught.value.errors} >= {"/arguments/code"}
    with pytest.raises(NotFoundError):
        client.start("nothing")
    with pytest.raises(NotFoundError):
        list(client.job("job_00000000000000000000000000").events())
    with pytest.raises(InvalidInputError):
        list(client.jobs(status="nothing"))
    with Ringback(rb.url, token="rbp_wrong") as stranger, pytest.raises(UnauthorizedError):
        stranger.tools()


def test_a_key_starts_a_job_once(client: Ringback) -> None:
    first = client.start("say", {"text": "x"}, idempotency_key="once")
    again = client.start("say", {"text": "x"}, idempotency_key="once")
    assert (again.id, first.is_replay, again.is_replay) == (first.id, False, True)
    with pytest.raises(IdempotencyConflictError):
        client.start("say", {"text": "y"}, idempotency_key="once")


def test_parallel_starts_with_one_key_give_one_job(client: Ringback) -> None:
    ids: list[str] = []
    threads = [
        threading.Thread(target=lambda: ids.append(client.start("say", {"text": "p"}, idempotency_key="par").id))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 20
    assert len(set(ids)) == 1


def test_lists_go_over_all_pages(client: Ringback) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    ids = {client.start("say", {"text": str(n)}, not_before=later).id for n in range(120)}
    found = [job.job_id for job in client.jobs(status="queued")]
    assert len(found) == len(set(found))
    assert ids <= set(found)
    assert len(list(client.jobs(limit=103))) == 103
    for job_id in ids:
        client.job(job_id).stop()


def test_a_job_after_another(client: Ringback) -> None:
    first = client.start("say", {"text": "x", "code": 1})
    second = client.start("say", {"text": "y"}, depends_on=[first])
    third = client.start("say", {"text": "z"}, depends_on=[first.id], run_on="always")
    assert second.wait(30).failure_kind == "dependency_failed"
    assert third.wait(30).status == "done"


def test_large_output_comes_in_pages(client: Ringback) -> None:
    job = client.start("flood")
    job.wait(30)
    pages = list(job.pages(max_bytes=1000))
    assert "".join(page.output for page in pages) == job.result().output
    assert job.output().endswith(b"1998\n1999\n")
    assert job.output(tail=1) == b"1999\n"
    assert job.text().startswith("green\n100%\n0\n")
    assert job.text(tail=2) == "1998\n1999\n"


def test_tools_and_workers_are_listed(client: Ringback) -> None:
    assert {"say", "wait", "flood"} <= {tool.name for tool in client.tools()}
    assert client.tool("say").input_schema["properties"]["code"]["type"] == "integer"
    assert {"default/command", "default/mcp", "default/script"} <= set(client.workers()[0]["offers"])
    assert client.apply([], dry_run=True) == ()


async def test_the_async_client_does_the_same(rb: Living) -> None:
    async with AsyncRingback(data=rb.data) as client:
        job = await client.start("say", {"text": "hello"})
        events = [event async for event in job.events()]
        assert events[-1].is_final
        assert (await job.wait(30)).status == "done"
        assert (await job.result()).output == "hello\n"
        assert await job.output() == b"hello\n"
        assert await job.text() == "hello\n"
        assert [page.status async for page in job.pages()] == ["done"]
        assert job.id in {found.job_id async for found in client.jobs(limit=50)}
        assert (await job.replay()).is_identical
        assert (await job.stop()).status == (await job.status()).status == "done"
        assert {tool.name for tool in await client.tools()} >= {"say"}
        assert (await client.pause("other"))["paused"] is True
        assert (await client.resume("other"))["paused"] is False


async def test_leaving_an_async_stream_leaves_nothing_behind(rb: Living) -> None:
    async with AsyncRingback(data=rb.data) as client:
        job = await client.start("wait")
        stream = job.events()
        async for _ in stream:
            break
        await stream.aclose()
        await job.stop()
        assert (await job.wait(30)).status == "cancelled"


def test_a_stream_outlasts_a_restart_of_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    seen: list[Event] = []
    with living(folder) as first, Ringback(data=first.data, retry=PATIENT) as client:
        port = first.url.rpartition(":")[2]
        job = client.start("say", {"text": "x"}, not_before=datetime.now(UTC) + timedelta(seconds=4))
        is_open = threading.Event()

        def follow() -> None:
            for event in job.events():
                seen.append(event)
                is_open.set()

        reader = threading.Thread(target=follow)
        reader.start()
        assert is_open.wait(10)
        assert first.process.stdin is not None
        first.process.stdin.close()
        assert first.process.wait(30) == 0
        with living(folder, "--port", port) as second:
            reader.join(30)
            assert not reader.is_alive()
            assert second("wait", job.id).code == 0
    assert [event.sequence for event in seen] == list(range(1, len(seen) + 1))
    assert seen[-1].is_final


def test_embedded_brings_a_server_and_takes_it_away(rb: Living, tmp_path: Path) -> None:
    data = tmp_path / "data"
    tools = rb.data.parent / "ringback.toml"
    with Ringback.embedded(data, file=tools) as client:
        assert client.start("say", {"text": "hello"}).wait(30).status == "done"
        with Ringback.embedded(data) as second:
            assert second.connection.url == client.connection.url, "a running server is used as it is"
        assert client.tools()
    assert ringback(data, "list").code == 5


async def test_embedded_works_awaited(rb: Living, tmp_path: Path) -> None:
    async with AsyncRingback.embedded(tmp_path / "data", file=rb.data.parent / "ringback.toml") as client:
        job = await client.start("say", {"text": "hello"})
        assert (await job.wait(30)).status == "done"
