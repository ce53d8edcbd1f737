"""Which peers there are, what each needs, and how one is measured."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.peers.environments import UnavailableError, interpreter
from bench.peers.servers import Postgres, postgres, redis

PROGRAMS = Path(__file__).parent / "programs"
WITHIN_S = 300.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A peer: its program with arguments, its environment, the server it needs, and its share of a flood's size."""

    program: str
    environment: str
    needs: str = ""
    words: tuple[str, ...] = ()
    share: float = 1.0


ENTRIES = (
    Entry("dbos_queue", "postgres", words=("sqlite",), share=0.25),
    Entry("huey_sqlite", "redis"),
    Entry("fastmcp_memory", "docket", share=0.25),
    Entry("celery_redis", "redis", "redis"),
    Entry("taskiq_redis_stream", "redis", "redis"),
    Entry("docket_redis", "docket", "redis"),
    Entry("pgqueuer_postgres", "postgres", "postgres", ("10",)),
    Entry("pgqueuer_postgres", "postgres", "postgres", ("100",)),
    Entry("oban_postgres", "oban", "postgres"),
    Entry("procrastinate_postgres", "postgres", "postgres", share=0.5),
    Entry("absurd_postgres", "postgres", "postgres", share=0.5),
    Entry("dbos_queue", "postgres", "postgres", ("postgres",), share=0.25),
)


@dataclass(frozen=True, slots=True)
class Absent:
    """A peer that could not be measured, and why."""

    name: str
    reason: str


def prepare(names: Sequence[str]) -> None:
    """Make the environments beforehand, so that no measurement runs beside an installation."""
    for environment in dict.fromkeys(entry.environment for entry in ENTRIES if _is_asked(entry, names)):
        try:
            interpreter(environment)
        except UnavailableError as error:
            print(f"peer environment {environment}: {error}")


def measured(
    names: Sequence[str], *, flood: int, floods: int, latencies: int, idles: int
) -> Iterator[Mapping[str, Any] | Absent]:
    """Measure the peers whose program's name begins with one of `names` (all when empty), one after the other."""
    sizes = {"BENCH_FLOODS": floods, "BENCH_LATENCIES": latencies, "BENCH_IDLES": idles}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="ringback-bench-")))
        folder.chmod(0o711)
        servers: dict[str, Any] = {}
        for number, entry in enumerate(each for each in ENTRIES if _is_asked(each, names)):
            scratch = folder / f"peer-{number}"
            scratch.mkdir()
            values = {"BENCH_SCRATCH": str(scratch), "BENCH_FLOOD": str(round(flood * entry.share))}
            values |= {name: str(size) for name, size in sizes.items()}
            try:
                values |= _address(entry, servers, stack, folder, number)
                yield _measure(entry, values, scratch)
            except UnavailableError as error:
                yield Absent(" ".join((entry.program, *entry.words)), str(error))


def _is_asked(entry: Entry, names: Sequence[str]) -> bool:
    return not names or any(entry.program.startswith(name) for name in names)


def _address(entry: Entry, servers: dict[str, Any], stack: ExitStack, folder: Path, number: int) -> dict[str, str]:
    """Where the server that the entry needs is; it is started for the first that does."""
    match entry.needs:
        case "redis":
            if "redis" not in servers:
                servers["redis"] = stack.enter_context(redis(folder))
            return {"BENCH_REDIS": servers["redis"]}
        case "postgres":
            if "postgres" not in servers:
                servers["postgres"] = stack.enter_context(postgres(folder))
            server: Postgres = servers["postgres"]
            return {"BENCH_POSTGRES": server.database(f"bench_{number}")}
        case _:
            return {}


def _measure(entry: Entry, values: Mapping[str, str], scratch: Path) -> Mapping[str, Any]:
    command = [str(interpreter(entry.environment)), str(PROGRAMS / f"{entry.program}.py"), *entry.words]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RINGBACK_", "PYTHON"))}
    log = scratch / "log"
    with log.open("wb") as sink:
        try:
            done = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=kept | dict(values),
                cwd=scratch,
                timeout=WITHIN_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UnavailableError(f"did not end within {WITHIN_S:g} s") from None
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no message"]
        raise UnavailableError(f"ended with {done.returncode}: {tail[-1][:200]}")
    found: dict[str, Any] = json.loads(lines[-1])
    return found
