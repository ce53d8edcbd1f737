"""`make bench`: measures Ringback and its peers on this machine, one thing at a time, and writes `bench/RESULTS.md`.

Each figure runs in a process of its own, so none inherits another's memory or caches. A figure that fails is named in the
results and makes the run end with 1; the others go on. Everything that is started is stopped.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import machine
from bench.figure import PROFILES, Finding, Profile, Remark, received, say
from bench.peers import catalogue
from bench.results import Results

FIGURES = {
    "T1": "t1_services",
    "T2": "t2_accept",
    "T3": "t3_end_to_end",
    "T4": "t4_latency",
    "T5": "t5_commands",
    "T6": "t6_memory",
    "T7": "t7_full_ledger",
    "T8": "t8_output",
    "T9": "t9_stream",
    "T12": "t12_mcp",
    "T13": "t13_bulk",
}
RESULTS = Path(__file__).with_name("RESULTS.md")
WITHIN_S = 1_800


def main() -> int:
    """Returns the exit code."""
    asked = _arguments()
    chosen = PROFILES["full" if asked.full else asked.profile]
    results = Results(command=_command(), profile=chosen.name, facts=machine.description(), floor=_floor())
    began = time.monotonic()
    if not asked.no_peers:
        catalogue.prepare(asked.peer)
    for target in asked.only or FIGURES:
        results.found += _figure(target, chosen)
    if not asked.no_peers:
        _peers(results, chosen, asked.peer)
    results.minutes = (time.monotonic() - began) / 60
    text = results.text()
    print(text)
    asked.out.write_text(text, encoding="utf-8")
    return 1 if results.failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure, next to the peers.")
    parser.add_argument("--full", action="store_true", help="larger sizes, which take longer")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="quick")
    parser.add_argument("--only", nargs="+", choices=sorted(FIGURES), metavar="T1", help="these targets")
    parser.add_argument("--peer", nargs="+", default=[], metavar="NAME", help="peers whose program begins so")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the results go")
    return parser.parse_args()


def _command() -> str:
    words = " ".join(sys.argv[1:])
    return f'make bench ARGS="{words}"' if words else "make bench"


def _floor() -> float:
    with tempfile.TemporaryDirectory(prefix="ringback-bench-") as folder:
        return machine.flush_microseconds(Path(folder))


def _figure(target: str, chosen: Profile) -> list[Finding]:
    say(f"--- {target}")
    command = [sys.executable, "-m", f"bench.figures.{FIGURES[target]}", chosen.name]
    busy = machine.wait_for_quiet()
    if busy > machine.BUSY_MAX:
        say(f"the machine is busy: {busy:.0%}")
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, cwd=machine.ROOT, timeout=WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired:
        return [Remark(target=target, text=f"did not end within {WITHIN_S} s", is_failure=True)]
    found = [received(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        found.append(Remark(target=target, text=f"its process ended with {done.returncode}", is_failure=True))
    return found


def _peers(results: Results, chosen: Profile, names: list[str]) -> None:
    sizes = {"flood": chosen.peer_flood, "floods": chosen.peer_floods}
    say("--- peers")
    for found in catalogue.measured(names, latencies=min(200, chosen.latencies), idles=min(12, chosen.idles), **sizes):
        if isinstance(found, catalogue.Absent):
            say(f"{found.name}: {found.reason}")
            results.absent.append(found)
        else:
            say(f"{found['name']}: {found['end_to_end']}")
            results.peers.append(found)


if __name__ == "__main__":
    sys.exit(main())
