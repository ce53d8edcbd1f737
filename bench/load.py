"""Keeps a server busy with POST /jobs over many connections: `wrk` where it is installed, else a lean client of our own."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

import uvloop

from bench import machine
from bench.caller import Caller, Requests
from bench.figure import percentile
from bench.installation import Installation

_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


@dataclass(frozen=True, slots=True)
class Load:
    """What came back."""

    generator: str
    rate: float
    p50_ms: float
    p99_ms: float


def load(installation: Installation, body: Mapping[str, object], *, connections: int, seconds: float) -> Load:
    """POST `body` to /jobs for so long; an answer that is no 2xx is an error.

    Raises:
        RuntimeError: an answer was refused.
    """
    if shutil.which("wrk"):
        return _wrk(installation, body, connections, seconds)
    words = [*machine.pinned(machine.CLIENT_CORE), sys.executable, "-m", "bench.load"]
    settings = [installation.port, installation.token, body, connections, seconds]
    done = subprocess.run(
        words, input=json.dumps(settings), capture_output=True, text=True, check=True, cwd=machine.ROOT
    )
    return Load("own client", *json.loads(done.stdout))


def _wrk(installation: Installation, body: Mapping[str, object], connections: int, seconds: float) -> Load:
    script = installation.folder / "post.lua"
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {installation.token}"}
    lines = ['wrk.method = "POST"', f"wrk.body = [[{json.dumps(body)}]]"]
    lines += [f'wrk.headers["{name}"] = "{text}"' for name, text in headers.items()]
    script.write_text("\n".join(lines), encoding="utf-8")
    words = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds:g}s",
        "--latency",
        "-s",
        str(script),
        f"{installation.url}/jobs",
    ]
    done = subprocess.run([*machine.pinned(machine.CLIENT_CORE), *words], capture_output=True, text=True, check=True)
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise RuntimeError(done.stdout)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    assert rate is not None, done.stdout
    return Load("wrk", float(rate[1]), _latency(done.stdout, 50), _latency(done.stdout, 99))


def _latency(text: str, share: int) -> float:
    found = re.search(rf"(?m)^\s+{share}%\s+([\d.]+)(us|ms|s)", text)
    assert found is not None, text
    return float(found[1]) * _MS[found[2]]


async def _own(port: int, token: str, body: object, connections: int, seconds: float) -> None:
    import asyncio

    request = Requests(port, token).post("/jobs", body)
    callers = [await Caller.connect(port) for _ in range(connections)]
    taken: list[float] = []
    began = time.perf_counter()

    async def lane(caller: Caller) -> None:
        while (sent := time.perf_counter()) - began < seconds:
            status, answer = await caller.call(request)
            if status != 202:
                raise RuntimeError(f"{status}: {answer[:300]!r}")
            taken.append((time.perf_counter() - sent) * 1e3)

    await asyncio.gather(*(lane(caller) for caller in callers))
    print(json.dumps([len(taken) / (time.perf_counter() - began), percentile(taken, 0.5), percentile(taken, 0.99)]))


if __name__ == "__main__":
    uvloop.run(_own(*json.load(sys.stdin)))
