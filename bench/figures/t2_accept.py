"""T2: `POST /jobs` answered with 202 after the commit, 64 connections, server and load generator on a core each."""

from bench import machine
from bench.figure import RUNS, Figure, emit, profile, say
from bench.installation import Installation
from bench.load import load

CONNECTIONS = 64


def measure() -> None:
    sizes = profile()
    rates, tails, medians = [], [], []
    with Installation() as installation:
        installation.start_server(core=machine.SERVER_CORE)
        installation.release("nothing", ["true"])
        body = {"tool": "nothing", "arguments": {}}
        load(installation, body, connections=CONNECTIONS, seconds=1)
        for _ in range(RUNS):
            machine.wait_for_quiet()
            found = load(installation, body, connections=CONNECTIONS, seconds=sizes.accept_s)
            say(f"T2 {found}")
            rates.append(found.rate)
            medians.append(found.p50_ms)
            tails.append(found.p99_ms)
        limits = f"{found.generator} on the other core, {CONNECTIONS} keep-alive connections; no worker is attached"
    name = f"POST /jobs → 202, {CONNECTIONS} connections"
    emit(Figure(target="T2", name=name, unit="requests/s", values=rates, least=5_000, aim=10_000, limits=limits))
    emit(Figure(target="T2", name=f"{name}: p99", unit="ms", values=tails, better="less", least=25, limits=limits))
    emit(Figure(target="T2", name=f"{name}: p50", unit="ms", values=medians, better="less", limits=limits))


if __name__ == "__main__":
    measure()
