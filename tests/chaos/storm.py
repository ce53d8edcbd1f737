"""A seeded storm over one data folder: clients start and stop jobs while servers and workers are killed and come back.

    python -m tests.chaos.storm --rounds 200 --seed 1

prints a summary and exits 1 when a promise was broken. What each round did is in the summary by kind; the times at
which processes die are random within the seed, what the machine makes of them is not.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from ringback.store import maintenance
from tests.chaos.work import BEGUN, FUNCTION, Kind, Ledger, define, executions, flaws_of
from tests.reliability.client import FINAL, Client
from tests.reliability.installation import FUNCTIONS, Installation, errors_in
from tests.reliability.processes import Process, carrying, environment_of
from tests.reliability.waiting import until

CLIENTS = 3
VICTIMS = (
    "server",
    "worker",
    "worker",
    "server and worker",
    "everything",
    "worker asleep",
    "server asleep",
    "worker drained",
    "server drained",
)


@dataclass(slots=True)
class Report:
    """What happened, and what is wrong."""

    seed: int
    rounds: int
    victims: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    jobs: int = 0
    stopped: int = 0
    replays: int = 0
    executions: int = 0
    seconds: float = 0.0
    flaws: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Some lines for people."""
        lines = [
            f"seed {self.seed}, {self.rounds} rounds in {self.seconds:.0f} s",
            f"killed, suspended or drained: {_counted(self.victims)}",
            f"jobs acknowledged: {self.jobs}, asked to stop: {self.stopped}, answered again for their key: {self.replays}",
            f"jobs ended: {_counted(self.statuses)}",
            f"attempts ended: {_counted(self.outcomes)}; executions of work: {self.executions}",
            f"promises broken: {len(self.flaws)}",
            *self.flaws[:20],
        ]
        return "\n".join(lines)


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


class Storm:
    """One storm; `run` it once."""

    def __init__(self, here: Installation, *, seed: int, rounds: int) -> None:
        self._here = here
        self._chance = random.Random(seed)
        self._report = Report(seed=seed, rounds=rounds)
        self._ledger = Ledger()
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._workers: list[Process] = []
        self._tools: dict[str, Kind] = {}

    def run(self) -> Report:
        """All rounds, then the truth about every job."""
        began = time.monotonic()
        here = self._here
        here.start_server()
        self._workers = [here.start_worker(f"w{number}", slots=5, app=FUNCTIONS) for number in range(2)]
        self._tools = {**define(here), FUNCTION.name: FUNCTION}
        clients = [threading.Thread(target=self._use, args=(number,)) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            for _ in range(self._report.rounds):
                self._round()
        finally:
            self._is_over.set()
            for client in clients:
                client.join()
        self._judge()
        self._report.seconds = time.monotonic() - began
        return self._report

    # --- the storm

    def _round(self) -> None:
        victim = self._chance.choice(VICTIMS)
        self._report.victims[victim] += 1
        self._is_over.wait(self._chance.uniform(0.0, 0.8))
        assert self._here.server is not None
        server, worker = self._here.server, self._chance.choice(self._workers)
        match victim:
            case "server":
                server.kill()
            case "worker":
                worker.kill()
            case "server and worker":
                for process in self._chance.sample([server, worker], 2):
                    process.kill()
            case "everything":
                for process in (server, *self._workers):
                    process.suspend()
                for process in (server, *self._workers):
                    process.kill()
            case "worker asleep" | "server asleep":
                sleeper = worker if victim == "worker asleep" else server
                sleeper.suspend()
                self._is_over.wait(self._chance.uniform(0.1, 1.5) * self._here.settings.lease_s)
                sleeper.resume()
            case "worker drained":
                worker.end()
            case _:
                server.end()
        self._replace()

    def _replace(self) -> None:
        assert self._here.server is not None
        if self._here.server.code is not None:
            self._is_over.wait(self._chance.choice((0, 0, 0.5)))
            self._here.start_server()
        for index, worker in enumerate(self._workers):
            if worker.code is not None:
                self._expect_no_orphan(worker)
                self._workers[index] = self._here.start_worker(f"w{index}", slots=5, app=FUNCTIONS, is_awaited=False)

    def _expect_no_orphan(self, worker: Process) -> None:
        """Nothing that a dead worker had started outlives it."""

        def left() -> list[int]:
            marked = carrying("RINGBACK_WORKER", f"{self._here.mark}.")
            return [pid for pid in marked if _owner_of(pid) == worker.pid]

        try:
            until(lambda: not left(), "the dead worker's processes are gone", within_s=10)
        except AssertionError:
            self._report.flaws.append(f"orphans of worker {worker.pid}: {left()}")

    # --- the clients

    def _use(self, number: int) -> None:
        chance = random.Random(f"{self._report.seed}/{number}")
        client = self._here.client()
        count = 0
        while not self._is_over.is_set():
            count += 1
            tool = chance.choice(list(self._tools))
            self._acknowledge(client, chance, f"client-{number}-{count}", tool)
            if chance.random() < 0.15:
                self._stop_one(client, chance)
            self._look_at_one(client, chance)
            self._is_over.wait(chance.uniform(0.05, 0.2))

    def _acknowledge(self, client: Client, chance: random.Random, key: str, tool: str) -> None:
        """Start a job, with the same key again and again until the server has answered."""
        arguments = {"file": str(self._here.work / BEGUN), "seconds": 0.1} if tool == FUNCTION.name else {}
        more: dict[str, Any] = {}
        with self._lock:
            if self._ledger.jobs and chance.random() < 0.1:
                more["depends_on"] = [chance.choice(list(self._ledger.jobs.values()))[0]]
                more["run_on"] = "always"
        while True:
            try:
                answer = client.post(tool, arguments, key=key, **more)
            except httpx2.TransportError:
                if self._is_over.wait(0.05):
                    return
                continue
            if answer.status_code == 202:
                break
            if answer.status_code != 503:
                self._report.flaws.append(f"{key}: {answer.status_code} {answer.text}")
                return
        with self._lock:
            self._ledger.jobs[key] = (answer.json()["job_id"], self._tools[tool])
            self._ledger.replays += "idempotency-replayed" in answer.headers

    def _stop_one(self, client: Client, chance: random.Random) -> None:
        """Stop a job that was just started, or one that runs."""
        with self._lock:
            recent = [job_id for job_id, _ in self._ledger.jobs.values()][-20:]
        try:
            under_way = [job["job_id"] for job in client.jobs(status="running", limit=200)]
            if not (candidates := chance.choice((recent, under_way)) or recent):
                return
            job_id = chance.choice(candidates)
            client.stop(job_id)
            self._ledger.stopped.add(job_id)
        except (httpx2.TransportError, AssertionError) as error:
            if isinstance(error, AssertionError) and " 503 " not in str(error):
                self._report.flaws.append(str(error))

    def _look_at_one(self, client: Client, chance: random.Random) -> None:
        """A final word once seen never changes."""
        with self._lock:
            if not self._ledger.jobs:
                return
            job_id, _ = chance.choice(list(self._ledger.jobs.values()))
        try:
            status = client.job(job_id)["status"]
        except (httpx2.TransportError, AssertionError):
            return
        before = self._ledger.final.setdefault(job_id, status) if status in FINAL else self._ledger.final.get(job_id)
        if before is not None and before != status:
            self._report.flaws.append(f"{job_id} was {before} and became {status}")

    # --- the truth

    def _judge(self) -> None:
        report, client, here = self._report, self._here.client(), self._here
        for key, (job_id, _) in self._ledger.jobs.items():
            ended = client.ended(job_id, within_s=90)
            report.statuses[ended["status"]] += 1
            if self._ledger.final.get(job_id, ended["status"]) != ended["status"]:
                report.flaws.append(f"{key}: {job_id} changed its final word")
        begun = executions(here.work)
        for job_id, kind in self._ledger.jobs.values():
            report.flaws += flaws_of(client, job_id, kind, begun)
            report.outcomes.update(each["outcome"] for each in client.attempts(job_id))
        known = {client.run(job_id)["runId"] for job_id, _ in self._ledger.jobs.values()}
        unknown = [job["job_id"] for job in client.jobs(limit=200) if client.run(job["job_id"])["runId"] not in known]
        report.flaws += [f"{job_id}: a job that nobody was told of" for job_id in unknown if not self._was_cut(unknown)]
        report.jobs, report.stopped = len(self._ledger.jobs), len(self._ledger.stopped)
        report.replays = self._ledger.replays
        report.executions = sum(counter.total() for counter in begun.values())
        for worker in self._workers:
            worker.end()
        if left := here.attempt_processes():
            report.flaws.append(f"processes are left: {left}")
        report.flaws += maintenance.check(here.data)
        report.flaws += errors_in(here.log())

    def _was_cut(self, unknown: list[str]) -> bool:
        """The end of the storm may cut each client in the middle of one start."""
        return len(unknown) <= CLIENTS


def _owner_of(pid: int) -> int | None:
    """The pid of the worker that a marked process belongs to."""
    parts = environment_of(pid).get(b"RINGBACK_WORKER", b"").split(b".")
    return int(parts[2]) if len(parts) == 4 else None


def storm(folder: Path, *, seed: int, rounds: int) -> Report:
    """One storm in an empty folder."""
    with Installation(folder) as here:
        return Storm(here, seed=seed, rounds=rounds).run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = storm(Path(folder), seed=asked.seed, rounds=asked.rounds)
    print(report)
    sys.exit(bool(report.flaws))


if __name__ == "__main__":
    main()
