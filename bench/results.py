"""The results of a run as a page: targets with what was measured, peers, slopes, and what they were taken on."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.figure import Figure, Finding, Remark, Slope
from bench.peers.catalogue import Absent

_RIVALS = {
    ("T2", "POST /jobs → 202, 64 connections"): ("enqueue", max),
    ("T3", "end to end, no-op function"): ("end_to_end", max),
    ("T4", "start → seen done by a waiting caller (Prefer: wait), p50"): ("latency_ms", min),
    ("T4", "idle worker → function begun, p50"): ("idle_ms", min),
    ("T13", "500 a request, end to end"): ("bulk", max),
}


@dataclass(slots=True, kw_only=True)
class Results:
    """Everything that one run found."""

    command: str
    profile: str
    facts: Mapping[str, str]
    floor: float
    found: list[Finding] = field(default_factory=list)
    peers: list[Mapping[str, Any]] = field(default_factory=list)
    absent: list[Absent] = field(default_factory=list)
    minutes: float = 0.0

    @property
    def failures(self) -> list[Remark]:
        return [each for each in self.found if isinstance(each, Remark) and each.is_failure]

    def text(self) -> str:
        """The page, in Markdown."""
        sections = [self._head(), self._targets(), self._peers(), self._slopes(), self._remarks()]
        return "\n".join(section for section in sections if section)

    def _head(self) -> str:
        lines = [
            "# Results",
            "",
            "Written by `bench/run.py`; how it measures is in [README.md](README.md). Absolute numbers belong to the",
            "machine of the day; what counts is the ratio to a peer of the same run.",
            "",
            "```",
            f"{self.command}     # profile {self.profile}, {self.minutes:.0f} minutes",
            "```",
            "",
        ]
        facts = {**self.facts, "disk": f"{self.floor:.0f} µs for one fdatasync of a small append (median)"}
        return "\n".join([*lines, *(f"* {name}: {text}" for name, text in facts.items()), ""])

    def _targets(self) -> str:
        lines = [
            "## Targets",
            "",
            "Median of the runs, range in brackets. Ratio: ours to the best peer of the same run.",
            "",
        ]
        lines += _table("target", "what", "durability", "at least", "aim", "measured", "", "best peer", "ratio")
        figures = [each for each in self.found if isinstance(each, Figure)]
        for each in figures:
            peer, ratio = self._rival(each)
            bounds = (_bound(each, each.least), _bound(each, each.aim))
            shown = measured(each.values, each.unit)
            cells = (each.target, each.name, each.durability, *bounds, shown, _verdict(each), peer, ratio)
            lines.append(_row(*cells))
        lines += ["", "How they were taken:", ""]
        lines += [f"* {each.target} {each.name}: {each.limits}" for each in figures if each.limits]
        return "\n".join([*lines, ""]) if figures else ""

    def _rival(self, figure: Figure) -> tuple[str, str]:
        key, best = _RIVALS.get((figure.target, figure.name), ("", max))
        medians = [(statistics.median(peer[key]), peer["name"]) for peer in self.peers if key and peer[key]]
        if not medians:
            return "", ""
        median, name = best(medians)
        return f"{name}: {number(median)} {figure.unit}", f"{figure.median / median:.2f} ×"

    def _peers(self) -> str:
        if not self.peers and not self.absent:
            return ""
        lines = [
            "## Peers, a task that does nothing",
            "",
            "Rates a second, times in milliseconds; the same machine, the same run.",
            "",
        ]
        lines += _table(
            "peer",
            "enqueue",
            "end to end",
            "start → seen done, p50",
            "p99",
            "idle → begun",
            "batches of 500",
            "durability",
        )
        ours = self._ours()
        if ours:
            lines.append(ours)
        for peer in self.peers:
            p99 = sorted(peer["latency_ms"])[int(len(peer["latency_ms"]) * 0.99)]
            rates = (measured(peer[key], "") for key in ("enqueue", "end_to_end"))
            times = (
                number(statistics.median(peer["latency_ms"])),
                number(p99),
                number(statistics.median(peer["idle_ms"])),
            )
            bulk = measured(peer["bulk"], "") if peer["bulk"] else ""
            lines.append(_row(peer["name"], *rates, *times, bulk, peer["durability"]))
        lines += ["", *(f"* {peer['name']}: {peer['setup']}" for peer in self.peers)]
        lines += [f"* not measured: {each.name} ({each.reason})" for each in self.absent]
        return "\n".join([*lines, ""])

    def _ours(self) -> str:
        by_name = {(each.target, each.name): each for each in self.found if isinstance(each, Figure)}
        cells = [by_name.get(key) for key in _RIVALS]
        p99 = by_name.get(("T4", "start → seen done by a waiting caller, p99"))
        accept, flood, latency, idle, bulk = cells
        if flood is None:
            return ""
        shown = [measured(each.values, "") if each else "" for each in (accept, flood)]
        shown += [number(each.median) if each else "" for each in (latency, p99, idle)]
        shown.append(measured(bulk.values, "") if bulk else "")
        return _row("**Ringback, SQLite**", *shown, "FULL, 7 events a run")

    def _slopes(self) -> str:
        slopes = [each for each in self.found if isinstance(each, Slope)]
        lines = ["## Cost of a unit at three sizes", "", "Equal costs: the whole grows linearly.", ""]
        lines += _table("target", "what", "unit", "costs by size", "largest / smallest")
        for each in slopes:
            costs = ", ".join(f"{size:,}: {number(cost)}" for size, cost in each.costs.items())
            lines.append(_row(each.target, each.name, each.unit, costs, f"{each.growth:.2f} ×"))
        return "\n".join([*lines, ""]) if slopes else ""

    def _remarks(self) -> str:
        remarks = [each for each in self.found if isinstance(each, Remark)]
        lines = ["## Remarks", ""]
        lines += [f"* {each.target}{' **failed**' if each.is_failure else ''}: {each.text}" for each in remarks]
        return "\n".join([*lines, ""]) if remarks else ""


def number(value: float) -> str:
    """Three significant digits, whole from 100 on."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def measured(values: Sequence[float], unit: str) -> str:
    """`median (least–most) unit`."""
    text = number(statistics.median(values))
    if len(values) > 1:
        text += f" ({number(min(values))}–{number(max(values))})"
    return f"{text} {unit}".strip()


def _bound(figure: Figure, bound: float | None) -> str:
    if bound is None:
        return ""
    return f"{'≥' if figure.better == 'more' else '≤'} {number(bound)} {figure.unit}"


def _verdict(figure: Figure) -> str:
    match figure.is_reached:
        case None:
            return ""
        case True:
            return "reached"
        case False:
            return "**missed**"


def _table(*names: str) -> list[str]:
    return [_row(*names), _row(*("---" for _ in names))]


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
