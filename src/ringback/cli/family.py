"""`tree` and `graph`: a run with what came from it, and with all that it hangs together with, drawn with lines.

A run is drawn in full where it is met first, and by its id alone where another edge leads to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ringback.cli.jobs import JobArgument
from ringback.cli.session import Session, connected
from ringback.cli.terminal import Terminal, plain

_WORDS = {"succeeded": "done", "canceled": "cancelled"}  # of runs, as jobs say them
Body = Mapping[str, Any]


@connected()
def tree(session: Session, run: JobArgument) -> None:
    """Draw a job with everything that came from it."""
    found = session.client.tree(run)
    if session.out.json_mode:
        session.out.document(found)
        return
    session.out.line(_label(session.out, found["run"]))
    for line in _branches(session.out, found, ""):
        session.out.line(line)


@connected()
def graph(session: Session, run: JobArgument) -> None:
    """Draw all that a job hangs together with, whichever way the links lead."""
    found = session.client.graph(run)
    if session.out.json_mode:
        session.out.document(found)
        return
    for line in _Drawing(session.out, found).lines():
        session.out.line(line)


def _branches(out: Terminal, branch: Body, margin: str) -> Iterator[str]:
    children: Sequence[Body] = branch["children"]
    is_cut = bool(branch.get("truncated"))
    for number, child in enumerate(children, start=1):
        is_last = number == len(children) and not is_cut
        relation = out.paint(plain(child.get("relationType", "")), "dim")
        yield f"{margin}{_arm(is_last)}{relation} {_label(out, child['run'])}"
        yield from _branches(out, child, margin + _rest(is_last))
    if is_cut:
        yield f"{margin}{_arm(True)}and more that are not shown"


class _Drawing:
    """A graph as a tree of edges from its first node, each edge drawn once."""

    def __init__(self, out: Terminal, found: Body) -> None:
        self._out = out
        self._nodes = {str(node["runId"]): node for node in found["nodes"]}
        self._edges: list[Body] = list(found["edges"])
        self._is_cut = bool(found.get("truncated"))
        self._drawn_nodes: set[str] = set()
        self._drawn_edges: set[int] = set()

    def lines(self) -> Iterator[str]:
        for run_id in self._nodes:  # the first is the run that was asked for, and all hang together with it
            if run_id not in self._drawn_nodes:
                yield self._node(run_id)
                yield from self._from(run_id, "")
        if self._is_cut:
            yield "and more that are not shown"

    def _from(self, run_id: str, margin: str) -> Iterator[str]:
        mine = [at for at, edge in enumerate(self._edges) if run_id in (edge["fromRunId"], edge["toRunId"])]
        mine = [at for at in mine if at not in self._drawn_edges]
        self._drawn_edges.update(mine)
        for number, at in enumerate(mine, start=1):
            edge, is_last = self._edges[at], number == len(mine)
            leads_away = edge["fromRunId"] == run_id
            other = str(edge["toRunId"] if leads_away else edge["fromRunId"])
            relation = plain(edge["relationType"])
            arrow = self._out.paint(f"{relation} →" if leads_away else f"← {relation}", "dim")
            is_new = other not in self._drawn_nodes
            yield f"{margin}{_arm(is_last)}{arrow} {self._node(other)}"
            if is_new:
                yield from self._from(other, margin + _rest(is_last))

    def _node(self, run_id: str) -> str:
        node = self._nodes.get(run_id)
        if node is None:
            return f"{plain(run_id)} (not shown)"
        if run_id in self._drawn_nodes:
            return f"{plain(node['jobId'])} (see above)"
        self._drawn_nodes.add(run_id)
        return _label(self._out, node)


def _label(out: Terminal, run: Body) -> str:
    word = str(run["status"])
    parts = [out.paint(plain(run["jobId"]), "bold"), out.status(_WORDS.get(word, word)), plain(run.get("tool", ""))]
    said = plain(run.get("summary") or run.get("errorMessage") or "")
    return "  ".join([*(part for part in parts if part), *([said] if said else [])])


def _arm(is_last: bool) -> str:
    return "└─ " if is_last else "├─ "


def _rest(is_last: bool) -> str:
    return "   " if is_last else "│  "
