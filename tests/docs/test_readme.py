"""The README's commands and code, run as they stand there, against a server of the quick-start project.

Replaced are only what differs from the reader's machine: the address, the data folder, where the programs are, and
`JOB`, which stands for an id.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ringback.client import Ringback
from ringback.toolfile import load
from tests.architecture import markdown
from tests.architecture.checkout import ROOT

README = markdown.read(ROOT / "README.md")
SHELL = [fence.code for fence in README.fences if fence.language == "sh"]
PYTHON = [fence.code for fence in README.fences if fence.language == "python"]
PROGRAMS = Path(sys.executable).parent
ANSWERS_WITHIN_S = 60


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who pastes the README's code into a shell."""

    client: Ringback
    data: Path

    def pastes(self, *blocks: str) -> subprocess.CompletedProcess[str]:
        code = "\n".join(("set -euo pipefail", *blocks)).replace("$PWD/.ringback", str(self.data))
        code = code.replace("http://127.0.0.1:7878", str(self.client.connection.url))
        command = ["bash", "-c", code]
        return subprocess.run(
            command, cwd=self.data, capture_output=True, text=True, timeout=ANSWERS_WITHIN_S, check=False
        )


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    data = tmp_path_factory.mktemp("readme")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("RINGBACK_DATA", str(data))
        for name in ("RINGBACK_URL", "RINGBACK_TOKEN", "RINGBACK_PROJECT"):
            patch.delenv(name, raising=False)
        with Ringback.embedded(data, file=ROOT / "examples" / "quickstart" / "ringback.toml") as client:
            yield Reader(client, data)


def _block(start: str) -> str:
    """The shell block that has a line beginning with `start`."""
    (found,) = [code for code in SHELL if re.search(rf"^{re.escape(start)}", code, re.MULTILINE)]
    return found


@pytest.mark.skipif(shutil.which("curl") is None, reason="the README speaks through curl, which is not installed")
def test_the_first_two_minutes(reader: Reader) -> None:
    first = _block("ask() ")
    said = reader.pastes(first, _block("JOB="), _block("SLOW="), _block("ask -N"))
    assert said.returncode == 0, said.stderr
    (handle,) = set(re.findall(r'\{"job_id":"(job_[0-9a-v]+)","status":"queued"\}', said.stdout))
    assert said.stdout.count("HTTP/1.1 202") == 3  # two starts, one stop
    assert said.stdout.lower().count("idempotency-replayed: true") == 1
    assert f'"job_id":"{handle}","status":"failed"' in said.stdout
    assert "15 passed, 1 failed, 7 deselected" in said.stdout
    assert '"next_cursor":"' in said.stdout
    assert re.search(r'"status":"cancelled","tool":"countdown"', said.stdout)
    assert said.stdout.rstrip().endswith('"status":"failed"}}')  # the terminal event, and the stream is over

    refused = reader.pastes(first.replace("not e2e", "e2e"))
    assert refused.stdout.count("HTTP/1.1 422") == 2
    assert '"code":"idempotency_key_reused"' in refused.stdout


def test_every_line_of_the_command_line_tour(reader: Reader) -> None:
    job = reader.client.start("check")
    job.wait(30)
    for line in _block("ringback tools").splitlines():
        said = reader.pastes(re.sub(r"\bJOB\b", job.id, line))
        assert said.returncode == 0, f"{line}\n{said.stderr}"


def test_the_python_examples(reader: Reader) -> None:
    client, functions, asking = PYTHON
    said = subprocess.run([sys.executable, "-c", client], capture_output=True, text=True, check=False, timeout=60)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("failed 15 passed, 1 failed")

    listing = f"{functions}\nprint(*app.tools)"
    said = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=False, timeout=60)
    assert (said.stdout, said.stderr) == ("crawl\n", "")
    listing = f"{asking}\nprint(*app.tools)"
    said = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=False, timeout=60)
    assert (said.stdout, said.stderr) == ("deploy\n", "")


def test_the_file_of_tools_is_one(tmp_path: Path) -> None:
    (example,) = [fence.code for fence in README.fences if fence.language == "toml"]
    (tmp_path / "ringback.toml").write_text(example)
    assert [tool["name"] for tool in load(tmp_path).tools] == ["test", "deploy"]


def test_a_project_of_ones_own(reader: Reader, tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\ttrue\n")
    said = reader.pastes(f"cd {tmp_path}", "ringback init")
    assert said.returncode == 0, said.stderr
    assert (tmp_path / "ringback.toml").exists()
