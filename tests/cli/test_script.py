"""Stored scripts from the command line and from both clients, against a real server and worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from ringback.client import AsyncRingback, NotFoundError, Ringback
from tests.cli.living import Living

GREET = """
def main(args):
    return {"hello": args.get("name", "nobody")}
"""


@pytest.fixture
def greet(tmp_path: Path) -> str:
    file = tmp_path / "greet.py"
    file.write_text(GREET)
    return str(file)


def test_a_script_from_the_command_line(rb: Living, greet: str, tmp_path: Path) -> None:
    """Kept, listed, shown, tried out while we wait and while we do not, published, read with a token, taken back."""
    kept = rb("script", "put", "greet", greet, "--description", "Greets.", "--timeout", "5m", "--json").json
    assert (kept["name"], kept["timeout_seconds"]) == ("greet", 300)
    assert "Greets." in rb("script", "list").out
    assert rb("script", "show", "greet").out == GREET

    done = rb("script", "test", "greet", "--args", '{"name": "vera"}', "--json")
    assert done.code == 0, done.out + done.err
    assert [done.json[key] for key in ("status", "method", "target_ref", "output")] == [
        "succeeded",
        "TEST",
        "greet",
        {"hello": "vera"},
    ]

    started = rb("script", "test", "greet", "--detached")
    assert started.code == 0, started.err
    run_id = started.out.strip()
    assert rb("wait", run_id).code == 0
    with Ringback(data=rb.data) as client:
        assert client.scripts.run(run_id)["output"] == {"hello": "nobody"}

    assert read_of_published(rb) == {"hello": "web"}
    assert rb("script", "delete", "greet").out == "greet deleted\n"
    assert rb("script", "show", "greet").code == 6
    assert rb("script", "put", "greet", str(tmp_path / "none.py")).code == 2
    assert rb("script", "test", "greet", "--args", "[]").code == 2


def read_of_published(rb: Living) -> Any:
    """The output of a request to a published endpoint, as somebody without an account reads it."""
    owner = {"authorization": f"Bearer {rb('token').out.strip()}"}
    with httpx2.Client(base_url=rb.url, timeout=60) as http:
        published = http.put("/api/projects/default/endpoints/hi", json={"target": "greet"}, headers=owner)
        assert published.status_code == 200, published.text
        accepted = http.post(
            published.json()["url"], json={"name": "web"}, headers={**owner, "prefer": "respond-async"}
        )
        assert accepted.status_code == 202, accepted.text
        body = accepted.json()
        assert rb("wait", body["run_id"]).code == 0
        seen = http.get(accepted.headers["location"], headers={"authorization": f"Bearer {body['token']}"})
        assert http.get(accepted.headers["location"], params={"token": "rbc_other"}).status_code == 404
        return seen.json()["output"]


def test_a_script_that_fails_says_so(rb: Living, tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("def main(args):\n    raise ValueError('not today')\n")
    assert rb("script", "put", "broken", str(file)).code == 0
    done = rb("script", "test", "broken")
    assert done.code == 1, done.out + done.err
    assert "not today" in done.err
    assert done.out == ""


async def test_the_clients(rb: Living) -> None:
    with Ringback(data=rb.data) as client:
        first = client.scripts.put("both", "def main(args):\n    return 1\n")
        assert client.scripts.get("both")["revision_id"] == first["revision_id"]
        again = client.scripts.test("both", idempotency_key="once", detached=True)
        assert client.scripts.test("both", idempotency_key="once", detached=True) == again
    async with AsyncRingback(data=rb.data, project="default") as client_too:
        scripts = client_too.scripts
        await scripts.put("both", GREET, timeout_seconds=60, pool="default")
        assert (await scripts.test("both", {"name": "ann"}))["output"] == {"hello": "ann"}
        assert "both" in [each["name"] for each in await scripts.list()]
        assert len(await scripts.revisions("both")) == 2
        await scripts.delete("both")
        with pytest.raises(NotFoundError):
            await scripts.get("both")
