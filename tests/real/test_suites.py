"""The suites of three real packages as jobs: `ringback init` in each, right summaries, whole results, and a server that answers.

Their tools are all called `test`: each job keeps the definition that it was started with.
"""

import asyncio
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.living import Living, living
from tests.real import packages, truth
from tests.real.traffic import ANSWERED_WITHIN_S, PER_SECOND, Traffic

FINAL = {"done", "failed", "cancelled"}
QUICK = '[tools.quick]\ndescription = "Do nothing."\ncommand = ["true"]\n'
WITHIN_S = 150.0
pytestmark = pytest.mark.timeout(600)  # a fresh machine fetches everything first


@pytest.fixture(scope="session")
def rb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", packages.searched_path())
        with living(tmp_path_factory.mktemp("real"), "--slots", "8", tools=QUICK) as running:
            yield running


@pytest.fixture
async def http(rb: Living) -> Any:
    token = (rb.data / "owner.token").read_text(encoding="ascii").strip()
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(
        base_url=rb.url, headers=headers, timeout=ANSWERED_WITHIN_S, trust_env=False
    ) as client:
        yield client


def drafted(rb: Living, repository: Path) -> None:
    """What an owner does first: `ringback init` and, without changing anything, `ringback apply`."""
    for words in (["init", str(repository)], ["apply", str(repository)]):
        done = rb(*words)
        assert done.code == 0, done.out + done.err


async def start(http: httpx2.AsyncClient, **arguments: str) -> str:
    answer = await http.post("/jobs", json={"tool": "test", "arguments": arguments})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["job_id"])


async def ended(http: httpx2.AsyncClient, job_id: str) -> dict[str, Any]:
    async with asyncio.timeout(WITHIN_S):
        while True:
            answer = await http.get(f"/jobs/{job_id}", headers={"prefer": "wait=20"})
            job: dict[str, Any] = answer.json()
            if job["status"] in FINAL:
                return job


async def joined(http: httpx2.AsyncClient, job_id: str) -> str:
    """The text of all result pages; each has at most as many bytes as were asked for."""
    texts: list[str] = []
    query: dict[str, Any] = {"max_bytes": 10_000}
    while True:
        page = (await http.get(f"/jobs/{job_id}/result", params=query)).json()
        assert len(page["output"].encode()) <= query["max_bytes"]
        texts.append(page["output"])
        assert page["complete"] == ("next_cursor" not in page)
        if page["complete"]:
            return "".join(texts)
        query["cursor"] = page["next_cursor"]


async def whole(http: httpx2.AsyncClient, job_id: str) -> str:
    """The entire output. The pages say the same, without the control characters that only a terminal understands."""
    text = (await http.get(f"/v1/runs/{job_id}/output")).content.decode()
    readable = "".join(letter for letter in text if letter in "\n\t" or unicodedata.category(letter) != "Cc")
    assert await joined(http, job_id) == readable
    return text


def phrase(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {word}" for word, number in counts.items())


async def test_three_suites_run_while_fifty_requests_a_second_are_answered(
    rb: Living, http: httpx2.AsyncClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = (packages.marshmallow, packages.more_itertools, packages.fast_uri)
    python, plain, script = (package().copy(tmp_path) for package in kinds)
    reported = truth.pytest_report(python, tmp_path / "report.xml")
    found = truth.unittest_count(plain)
    counted = truth.tap_counts(script)
    jobs = []
    for repository in (python, plain, script):
        drafted(rb, repository)
        jobs.append(await start(http))

    over, traffic = asyncio.Event(), Traffic(http, jobs)
    async with asyncio.TaskGroup() as group:
        group.create_task(traffic.until(over))
        pytest_job, unittest_job, tape_job = await asyncio.gather(*(ended(http, job_id) for job_id in jobs))
        over.set()

    assert (pytest_job["status"], pytest_job["summary"]) == ("done", phrase(reported))
    assert reported["passed"] > 1000
    lines = (await whole(http, pytest_job["job_id"])).splitlines()
    assert lines[-1].startswith(f"{phrase(reported)} in "), lines[-1]
    dots = re.findall(r"^([.sx]+) +\[ *\d+%\]$", "\n".join(lines), re.MULTILINE)
    assert sum(map(len, dots)) == sum(reported.values())

    text = await whole(http, unittest_job["job_id"])
    skipped = len(re.findall(r"\.\.\. skipped ", text))
    assert f"\nRan {found} tests in " in text
    assert unittest_job["summary"] == phrase({"passed": found - skipped, "skipped": skipped})
    assert unittest_job["status"] == "done"

    assert (tape_job["status"], tape_job["summary"]) == ("done", phrase(counted))
    numbers = re.findall(r"^ok (\d+)\b", await whole(http, tape_job["job_id"]), re.MULTILINE)
    assert numbers == [str(number) for number in range(1, counted["passed"] + 1)]

    assert traffic.wrong() == {}
    assert len(traffic.answers) >= 0.95 * PER_SECOND * traffic.lasted_s
    assert {(await ended(http, job_id))["status"] for job_id in traffic.started} == {"done"}
    with capsys.disabled():
        times = ", ".join(f"{share:.0%} within {traffic.within_s(share) * 1000:.0f} ms" for share in (0.5, 0.99, 1))
        told = f"{len(traffic.answers)} requests in {traffic.lasted_s:.1f} s, none refused: {times}"
        print(f"\n{told}", file=sys.stderr)  # xdist shows this stream, and not the other
    assert traffic.within_s(0.99) < 2


@dataclass(frozen=True, slots=True)
class Breakage:
    """One assertion that is made wrong, and how the suite is then run; `left_out` only saves time."""

    package: Callable[[], packages.Package]
    file: str
    before: str
    after: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    left_out: str | None = None

    def breaks(self, repository: Path) -> None:
        text = (repository / self.file).read_text(encoding="utf-8")
        assert self.before in text
        (repository / self.file).write_text(text.replace(self.before, self.after, 1), encoding="utf-8")
        if self.left_out is not None:
            (repository / self.left_out).unlink()


BROKEN = {
    "pytest": Breakage(
        packages.marshmallow,
        "tests/test_utils.py",
        'utils.get_value(obj, "x") == 24',
        'utils.get_value(obj, "x") == 25',
        arguments={"path": "tests/test_utils.py"},
    ),
    "unittest": Breakage(
        packages.more_itertools,
        "tests/test_more.py",
        "[['A', 'B', 'C'], ['D', 'E']]",
        "[['A', 'B', 'C'], ['D', 'F']]",
        left_out="tests/test_recipes.py",
    ),
    "tape": Breakage(
        packages.fast_uri,
        "test/ipv6-canonical.test.js",
        "t.equal(fastURI.equal(a, b), true,",
        "t.equal(fastURI.equal(a, b), false,",
    ),
}


@pytest.mark.parametrize("runner", BROKEN)
async def test_the_summary_of_a_broken_suite_names_the_file(
    rb: Living, http: httpx2.AsyncClient, tmp_path: Path, runner: str
) -> None:
    broken = BROKEN[runner]
    repository = broken.package().copy(tmp_path)
    broken.breaks(repository)
    drafted(rb, repository)
    job = await ended(http, await start(http, **broken.arguments))
    assert job["status"] == "failed"
    assert re.fullmatch(rf"\d+ passed, [1-9]\d* failed \({re.escape(broken.file)}\)", job["summary"])
