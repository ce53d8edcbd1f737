"""examples/runtime.mjs, 150 lines without a dependency, against a real server: that page and protocol suffice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.client import Client
from tests.reliability.installation import Installation
from tests.reliability.processes import Process
from tests.reliability.waiting import until
from tests.runtimes import node

LINES_MAX = 150
pytestmark = pytest.mark.timeout(240)


def test_the_example_is_short_and_needs_nothing_but_node() -> None:
    text = node.PROGRAM.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES_MAX
    assert [
        line for line in text.splitlines() if " from " in line and line.startswith("import") and "node:" not in line
    ] == []


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Installation]:
    with Installation(tmp_path) as installation:
        installation.start_server()
        yield installation


@contextmanager
def runtime(here: Installation, name: str) -> Iterator[Process]:
    process = node.start(here, name)
    try:
        until(lambda: process.pid in attached(here), "the runtime attaches", within_s=60)
        yield process
    finally:
        process.resume()
        process.kill()


def attached(here: Installation, *, ended: bool = False) -> dict[int, dict[str, Any]]:
    """Connections by the pid that their incarnation begins with, the last attach of each."""
    found = here.client().read("GET", f"/v1/runtime-connections?ended={str(ended).lower()}")["items"]
    return {int(each["incarnation"].split("-")[0]): each for each in reversed(found)}


def count(client: Client, to: int, pause_ms: int) -> str:
    """Start a run, and return when it has done a step or two."""
    job_id = client.start(node.TOOL, {"to": to, "pauseMs": pause_ms})
    until(lambda: has_reached(client, job_id, 2), "it counts")
    return job_id


def has_reached(client: Client, job_id: str, number: int) -> bool:
    return bool((client.run(job_id).get("progress") or {}).get("done", 0) >= number)


def numbers_of(client: Client, job_id: str) -> list[int]:
    return [int(line) for line in client.output(job_id).split()]


def test_a_run_from_claim_to_result(here: Installation) -> None:
    client = here.client()
    with runtime(here, "node") as process:
        run_id = count(client, 3, 1)
        client.ended(run_id)
        run = client.run(run_id)
        assert (run["status"], run["progress"], run["summary"]) == (
            "succeeded",
            {"done": 3, "total": 3},
            '{"from":1,"to":3}',
        )
        assert client.output(run_id) == b"1\n2\n3\n"
        (attempt,) = client.attempts(run_id)
        connection = attached(here)[process.pid]
        assert attempt["runtimeConnectionId"] == connection["runtimeConnectionId"]
        assert attempt["provider"] == "node", "also where the server began the attempt"
        assert (attempt["connectionEpoch"], attempt["sessionId"]) == (0, connection["sessionId"])
        levels = {each["name"]: each["supportLevel"] for each in attempt["effectiveSdkCapabilities"]}
        assert (levels["checkpoint.save"], levels["kv.read"]) == ("native", "unsupported")
        process.signal(signal.SIGTERM)
        assert process.ended() == 0
    assert attached(here) == {}


def test_a_stop_is_obeyed(here: Installation) -> None:
    client = here.client()
    with runtime(here, "node"):
        run_id = count(client, 1_000, 20)
        client.stop(run_id)
        client.ended(run_id)
        run = client.run(run_id)
        assert (run["status"], run["endReason"]) == ("canceled", "cancelled_cooperatively")
        assert {"cancelDeliveredAt", "cancelAcknowledgedAt"} <= set(run)


def test_after_kill_9_another_one_goes_on_from_the_checkpoint(here: Installation) -> None:
    client = here.client()
    with runtime(here, "first") as first:
        run_id = count(client, 1_000, 20)
        first.kill()
        with runtime(here, "second"):
            until(lambda: len(client.attempts(run_id)) == 2, "another attempt", within_s=60)
            until(lambda: has_reached(client, run_id, 60), "it goes on")
            client.stop(run_id)
            client.ended(run_id)
    lost, again = client.attempts(run_id)
    assert (lost["outcome"], again["reason"], again["outcome"]) == ("lost", "lost", "stopped")
    assert lost["runtimeConnectionId"] != again["runtimeConnectionId"]
    numbers = numbers_of(client, run_id)
    assert numbers == list(range(1, len(numbers) + 1)), "no step was done twice"
    assert attached(here, ended=True)[first.pid]["status"] == "lost"


def test_one_that_slept_through_its_lease_comes_back_with_the_next_epoch(here: Installation) -> None:
    """What it held goes on elsewhere; what it still sends under the old fence changes nothing."""
    client = here.client()
    with runtime(here, "sleeper") as sleeper:
        run_id = count(client, 40, 50)
        sleeper.suspend()
        with runtime(here, "other"):
            until(lambda: len(client.attempts(run_id)) == 2, "another attempt", within_s=60)
            sleeper.resume()
            assert client.ended(run_id)["status"] == "done"
        until(lambda: attached(here).get(sleeper.pid, {}).get("connectionEpoch") == 1, "it attaches anew", within_s=60)
    assert numbers_of(client, run_id) == list(range(1, 41))
    lost, _ = client.attempts(run_id)
    assert (lost["outcome"], lost["connectionEpoch"]) == ("lost", 0)
    assert "let go of" in sleeper.log


def test_an_operator_makes_it_come_back(here: Installation) -> None:
    client = here.client()
    with runtime(here, "node") as process:
        run_id = count(client, 1_000, 20)
        connection = attached(here)[process.pid]
        path = f"/v1/runtime-connections/{connection['runtimeConnectionId']}/reconnect"
        told = client.read("POST", path, json={"reason": "new keys"})
        assert told["status"] == "reconnecting"
        until(lambda: attached(here).get(process.pid, {}).get("connectionEpoch") == 1, "it attaches anew")
        until(lambda: len(client.attempts(run_id)) == 2, "another attempt", within_s=60)
        before, now = client.attempts(run_id)
        assert (before["outcome"], before["connectionEpoch"], now["connectionEpoch"]) == ("lost", 0, 1)
        assert before["runtimeConnectionId"] == now["runtimeConnectionId"]
