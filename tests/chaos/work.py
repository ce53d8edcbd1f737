"""The jobs of a chaos run: kinds of tools that leave a trace of every execution, and what must be true of each job in the end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.reliability.client import Client, Event, output_in
from tests.reliability.installation import Installation

LINES = 15
BEGUN = "begun"
_MARK = f'echo "$RINGBACK_RUN_ID $RINGBACK_ATTEMPT_NO" >> {BEGUN}'
_CHATTER = f"i=0; while [ $i -lt {LINES} ]; do echo line $i; i=$((i+1)); sleep 0.02; done"
CHATTER = b"".join(b"line %d\n" % number for number in range(LINES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of job: how it is defined, and how often it may be carried out."""

    name: str
    script: str
    policy: Mapping[str, Any]
    executions_max: int
    may_repeat_after_loss: bool
    output: bytes = b""


KINDS = (
    Kind(
        name="safe",
        script=f"{_MARK}; sleep 0.2",
        policy={"idempotent": True},
        executions_max=3,
        may_repeat_after_loss=True,
    ),
    Kind(name="unsafe", script=f"{_MARK}; sleep 0.2", policy={}, executions_max=1, may_repeat_after_loss=False),
    Kind(
        name="failing",
        script=f"{_MARK}; test $RINGBACK_ATTEMPT_NO -gt 1",
        policy={"retry": {"attemptsMax": 3, "delayS": 0.1}},
        executions_max=3,
        may_repeat_after_loss=False,
    ),
    Kind(
        name="chatty",
        script=f"{_MARK}; {_CHATTER}",
        policy={"retryOnLost": True, "retry": {"attemptsMax": 5, "delayS": 0}},
        executions_max=5,
        may_repeat_after_loss=True,
        output=CHATTER,
    ),
    Kind(
        name="stubborn",
        script=f"{_MARK}; trap '' TERM; sleep 0.3 & wait; sleep 0.1",
        policy={"cancelGraceS": 0.2},
        executions_max=1,
        may_repeat_after_loss=False,
    ),
)
FUNCTION = Kind(name="mark", script="", policy={}, executions_max=3, may_repeat_after_loss=True)


@dataclass(slots=True)
class Ledger:
    """What a client knows for sure: keys that were acknowledged, with the job's id and its kind."""

    jobs: dict[str, tuple[str, Kind]] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    replays: int = 0
    final: dict[str, str] = field(default_factory=dict)


def define(here: Installation) -> dict[str, Kind]:
    """Release the tools; kinds by the tool's name."""
    return {here.command(kind.script, **kind.policy): kind for kind in KINDS}


def executions(work: Path) -> dict[str, Counter[str]]:
    """By run: how often each of its attempts has begun."""
    found: dict[str, Counter[str]] = {}
    for line in (work / BEGUN).read_text(encoding="utf-8").splitlines():
        run_id, attempt_no = line.split()
        found.setdefault(run_id, Counter())[attempt_no] += 1
    return found


def flaws_of(client: Client, job_id: str, kind: Kind, begun: Mapping[str, Counter[str]]) -> list[str]:
    """What is wrong with a job in the end; nothing, one hopes."""
    run, events, attempts = client.run(job_id), client.events(job_id), client.attempts(job_id)
    done = begun.get(run["runId"], Counter())
    lost_work = [each for each in attempts if each["outcome"] in ("lost", "released") and "startedAt" in each]
    laws = {
        "it is not over": run["status"] in ("succeeded", "failed", "canceled"),
        f"one attempt was carried out twice: {done}": all(count == 1 for count in done.values()),
        f"it was carried out too often: {done}": done.total() <= kind.executions_max,
        "it succeeded without having been carried out": run["status"] != "succeeded" or done.total() >= 1,
        "lost work was repeated that must not be": kind.may_repeat_after_loss or lost_work in ([], attempts[-1:]),
        "attempts have a gap": [each["attemptNo"] for each in attempts] == list(range(1, len(attempts) + 1)),
        "its events have a gap": [event.sequence for event in events] == list(range(1, run["eventSequence"] + 1)),
        "its last event is not its one end": [event.is_final for event in events]
        == [False] * (len(events) - 1) + [True],
        "its events and its rows differ": client.replay(job_id),
        "its output is not what it wrote": _is_output_right(kind, events, attempts),
    }
    return [f"{job_id} ({kind.name}): {law}" for law, holds in laws.items() if not holds]


def _is_output_right(kind: Kind, events: Sequence[Event], attempts: Sequence[Mapping[str, Any]]) -> bool:
    """Each attempt's output is a beginning of what the work writes, and all of it when the attempt succeeded."""
    starts = [index for index, event in enumerate(events) if event.type == "attempt.started"]
    written = {
        events[begin].body["attemptNo"]: output_in(list(events[begin:end]))
        for begin, end in pairwise([*starts, len(events)])
    }
    ended = {each["attemptNo"]: each["outcome"] for each in attempts}
    return all(
        text == kind.output if ended[number] == "succeeded" else kind.output.startswith(text)
        for number, text in written.items()
    )
