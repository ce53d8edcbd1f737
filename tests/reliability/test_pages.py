"""PAGE: lists in pages, while things change."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.reliability.client import Client
from tests.reliability.installation import Installation
from tests.reliability.scale import times


def _ids(client: Client, **query: str | int) -> list[str]:
    return [job["job_id"] for job in client.jobs(**query)]


@pytest.mark.parametrize("size", [50, 1])
def test_jobs_of_one_moment_are_all_there_once(installation: Installation, client: Client, size: int) -> None:
    """O89"""
    tool = installation.command("true", pool="nobody")
    count = times(60, 120)
    with ThreadPoolExecutor(20) as pool:
        started = list(pool.map(lambda _: client.start(tool), range(count)))
    listed = _ids(client, tool=tool, limit=size)
    assert len(listed) == count
    assert set(listed) == set(started)


def test_pages_hold_still_while_jobs_come_and_change(installation: Installation, client: Client) -> None:
    """O90: each job that was there at the start is seen once."""
    tool = installation.command("sleep 0.05")
    there = [client.start(tool) for _ in range(times(150, 500))]
    is_over = threading.Event()

    def add() -> None:
        while not is_over.wait(0.02):
            client.start(tool)

    adding = threading.Thread(target=add)
    adding.start()
    try:
        for _ in range(3):
            seen = _ids(client, tool=tool, limit=20)
            assert len(seen) == len(set(seen))
            assert set(there) <= set(seen)
    finally:
        is_over.set()
        adding.join()
    for job in there:
        client.ended(job)


def test_a_cursor_that_is_none_is_refused(installation: Installation, client: Client) -> None:
    """O90: garbage, cut, of another query; nothing is revealed."""
    tool = installation.command("true")
    for _ in range(3):
        client.start(tool)
    own = client.read("GET", "/jobs", params={"limit": 1, "tool": tool})["next_cursor"]
    other = client.read("GET", "/jobs", params={"limit": 1})["next_cursor"]
    for cursor in ("garbage", own[:-3], other, own + "x", "", "é", "A" * 5000):
        answer = client.ask("GET", "/jobs", params={"limit": 1, "tool": tool, "cursor": cursor})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor"), cursor
    assert client.ask("GET", "/jobs", params={"limit": 1, "tool": tool, "cursor": own}).status_code == 200
