"""A figure as it is measured, printed and written down; and the sizes at which it is measured."""

import json
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Better = Literal["more", "less"]
RUNS = 3
FULL_SYNC = "FULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the results.

    Attributes:
        target: T1 to T13 of the list of targets.
        values: one for each run; the median counts.
        least: the bound that must be kept; None where there is none.
        aim: what we want to reach.
        better: whether more or less is better.
        durability: what an acknowledgement in it means; FULL: SQLite, WAL, synchronous=FULL, after the flush.
        limits: facts about the measurement that a reader must know.
    """

    target: str
    name: str
    unit: str
    values: list[float]
    better: Better = "more"
    least: float | None = None
    aim: float | None = None
    durability: str = FULL_SYNC
    limits: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def is_reached(self) -> bool | None:
        """Whether the median keeps the bound; None without one."""
        if self.least is None:
            return None
        return self.median >= self.least if self.better == "more" else self.median <= self.least


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """What a unit of work costs at several sizes; equal costs mean that the cost is linear."""

    target: str
    name: str
    unit: str
    costs: dict[int, float] = field(default_factory=dict)

    @property
    def growth(self) -> float:
        """The cost of a unit at the largest size over that at the smallest."""
        return self.costs[max(self.costs)] / self.costs[min(self.costs)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something that was not measured, or that a reader must know."""

    target: str
    text: str
    is_failure: bool = False


Finding = Figure | Slope | Remark
_KINDS: dict[str, Callable[..., Finding]] = {"Figure": Figure, "Slope": Slope, "Remark": Remark}


def emit(found: Finding) -> None:
    """Hand a finding to the run, as one line of JSON on stdout."""
    print(json.dumps({"kind": type(found).__name__, **asdict(found)}), flush=True)


def received(line: str) -> Finding:
    """The finding in a line that `emit` printed."""
    body: dict[str, Any] = json.loads(line)
    if isinstance(body.get("costs"), dict):
        body["costs"] = {int(size): cost for size, cost in body["costs"].items()}
    return _KINDS[body.pop("kind")](**body)


def say(text: str) -> None:
    """Progress for the person who waits, on stderr."""
    print(text, file=sys.stderr, flush=True)


def percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def per_step(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The slope of the straight line through the points, by least squares."""
    return statistics.linear_regression(sizes, values).slope


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How much is measured."""

    name: str
    service_runs: int
    accept_s: float
    flood: int
    latencies: int
    idles: int
    commands: int
    parked: tuple[int, int, int]
    streams: tuple[int, int, int]
    finished: int
    output_bytes: int
    peer_flood: int
    peer_floods: int


QUICK = Profile(
    name="quick",
    service_runs=20_000,
    accept_s=4,
    flood=8_000,
    latencies=200,
    idles=12,
    commands=400,
    parked=(10_000, 20_000, 30_000),
    streams=(500, 1_000, 1_500),
    finished=1_000_000,
    output_bytes=1_000_000_000,
    peer_flood=3_000,
    peer_floods=3,
)
FULL = Profile(
    name="full",
    service_runs=60_000,
    accept_s=10,
    flood=20_000,
    latencies=1_000,
    idles=40,
    commands=2_000,
    parked=(20_000, 60_000, 100_000),
    streams=(1_000, 5_000, 10_000),
    finished=1_000_000,
    output_bytes=1_000_000_000,
    peer_flood=10_000,
    peer_floods=3,
)
SMOKE = Profile(
    name="smoke",
    service_runs=1_000,
    accept_s=1,
    flood=400,
    latencies=20,
    idles=2,
    commands=20,
    parked=(500, 1_000, 1_500),
    streams=(20, 40, 60),
    finished=5_000,
    output_bytes=20_000_000,
    peer_flood=200,
    peer_floods=1,
)
PROFILES = {profile.name: profile for profile in (QUICK, FULL, SMOKE)}


def profile() -> Profile:
    """The one that a figure's process was started with."""
    return PROFILES[sys.argv[1] if len(sys.argv) > 1 else "smoke"]
