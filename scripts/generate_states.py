"""Writes `docs/states.md`: the states of a run, their arcs, and their words on each surface, as the code has them.

The page is generated so that it can't be wrong; a test compares what is checked in with a fresh one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from ringback.domain.states import (
    HELD,
    MACHINERY_FAILURES,
    TERMINAL,
    TRANSITIONS,
    EndReason,
    FailureKind,
    Status,
    TimeLimit,
    a2a_word,
    async_run_word,
    job_word,
    task_word,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "states.md"
_MEANINGS = {
    Status.QUEUED: "accepted; waits for its turn, a moment, or other runs",
    Status.SUBMITTED: "a worker has claimed it; its work has not begun",
    Status.RUNNING: "its work is under way",
    Status.RETRYING: "an attempt is over, and another one will follow",
    Status.CANCELING: "a stop was accepted; its work is being ended",
    Status.SUCCEEDED: "the work succeeded",
    Status.FAILED: "the work or the machinery failed, or a limit of time was hit",
    Status.CANCELED: "it was stopped",
}
_WORK_FAILURES = [kind for kind in FailureKind if kind not in MACHINERY_FAILURES]
_ROWS: Sequence[tuple[str, Status, int, FailureKind | None]] = (
    ("queued", Status.QUEUED, 0, None),
    ("submitted, first attempt", Status.SUBMITTED, 1, None),
    ("submitted, later attempt", Status.SUBMITTED, 2, None),
    ("running", Status.RUNNING, 1, None),
    ("retrying", Status.RETRYING, 1, None),
    ("canceling", Status.CANCELING, 1, None),
    ("succeeded", Status.SUCCEEDED, 1, None),
    ("failed, the work", Status.FAILED, 1, FailureKind.TOOL_ERROR),
    ("failed, the machinery", Status.FAILED, 1, FailureKind.INTERNAL),
    ("canceled", Status.CANCELED, 1, None),
)


def page() -> str:
    """The whole page."""
    return f"""# The states of a run

<!-- Written by `python scripts/generate_states.py` from src/ringback/domain/states.py. Do not edit. -->

A final state has no way out, and the first one wins. A wait for a person adds no state: it is an overlay on an active run.

{_table(("status", "kind", "meaning"), _statuses())}

## From one to the next

{_diagram()}

{_table(("from", "to", "because"), _arcs())}

## One state, one word on each surface

{_table(("state", "async run", "job", "MCP task", "A2A", "MCP task, blocked", "A2A, blocked"), _words())}

*Blocked*: a question that blocks the run is open. A2A says `AUTH_REQUIRED` when it asks for a sign-in.

## How a run ends

* `failureKind`, when the work failed: {_list(_WORK_FAILURES)}.
* `failureKind`, when the machinery failed: {_list(kind for kind in FailureKind if kind in MACHINERY_FAILURES)}.
* The limit of time that was hit (`timeLimit`): {_list(TimeLimit)}.
* `endReason`, what became of a stop: {_list(EndReason)}.
"""


def _statuses() -> Iterable[Sequence[str]]:
    for status in Status:
        kind = "final" if status in TERMINAL else "active, held by a worker" if status in HELD else "active, waiting"
        yield f"`{status}`", kind, _MEANINGS[status]


def _arcs() -> Iterable[Sequence[str]]:
    for status, arcs in TRANSITIONS.items():
        for after, reason in arcs.items():
            yield f"`{status}`", f"`{after}`", reason


def _words() -> Iterable[Sequence[str]]:
    for name, status, attempt_no, failure in _ROWS:
        words = (
            async_run_word(status, attempt_no),
            job_word(status, attempt_no),
            task_word(status, failure, is_blocked=False),
            a2a_word(status, attempt_no, blocked_by=None),
        )
        blocked = (
            task_word(status, failure, is_blocked=True),
            a2a_word(status, attempt_no, blocked_by="approval"),
        )
        shown = (*words, *(() if status in TERMINAL else blocked))
        yield name, *(f"`{word}`" for word in shown), *("–" for _ in range(6 - len(shown)))


def _diagram() -> str:
    lines = [f"    [*] --> {Status.QUEUED}"]
    lines += [f"    {status} --> {after}" for status, arcs in TRANSITIONS.items() for after in arcs]
    lines += [f"    {status} --> [*]" for status in Status if status in TERMINAL]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _list(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
