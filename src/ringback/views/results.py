"""How a long result is shown at first sight: its end, its exit code and how much there is, because the beginning says least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringback.services.results import ResultPage
from ringback.summaries.text import clean_text
from ringback.views.runs import run_ref


def run_result(page: ResultPage) -> dict[str, Any]:
    """A part of a result on the run surface."""
    run = page.run
    body: dict[str, Any] = {**run_ref(run), "complete": run.is_terminal and page.next_cursor is None}
    if page.items is not None:
        body["items"] = page.items
    if page.output or page.items is None:
        body["output"] = clean_text(page.output)
    if page.dropped:
        body["outputDroppedBytes"] = page.dropped
    body |= page.value or {}
    if run.is_terminal and page.next_cursor is None and run.summary is not None:
        body["summary"] = run.summary
    if page.next_cursor is not None:
        body["nextCursor"] = page.next_cursor
    return body


def ending(tail: bytes, size: int, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """The last lines of a long output, how many bytes it has, and how its work ended."""
    told = value or {}
    body: dict[str, Any] = {"tail": clean_text(tail), "bytes": size}
    if "exitCode" in told:
        body["exit_code"] = told["exitCode"]
    return body
