"""Which runs belong together: a run's descendants as a tree, and all that it is linked with as a graph; both bounded.

A run of another project is shown only if a grant lets the asking project see its status; else not even the edge is.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ringback.domain.ids import ProjectId, RunId
from ringback.domain.runs import Run
from ringback.ports.store import Link
from ringback.services.grants import STATUS
from ringback.services.runs import Runs

NODES_MAX = 500
DESCENDS = ("tool_subrun", "delegation", "handoff", "mcp_session", "follow_up")  # from the older run to the younger


@dataclass(slots=True)
class Branch:
    """A run and what came from it. `is_cut` says that it has descendants which are not shown."""

    run: Run
    relation: str | None
    children: list[Branch] = field(default_factory=list)
    is_cut: bool = False


@dataclass(slots=True)
class Graph:
    """Runs and the edges between them. `is_cut` says that there are more."""

    runs: dict[RunId, Run] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    is_cut: bool = False


async def family(runs: Runs, project_id: ProjectId, run: Run) -> Branch:
    """The descendants of `run`, breadth first, at most `NODES_MAX` runs."""
    root = Branch(run, None)
    queue, count = deque([root]), 1
    while queue:
        branch = queue.popleft()
        if not await _shows_links(runs, project_id, branch.run):
            continue
        for link in await runs.store.reads.links(branch.run.run_id):
            if link.relation not in DESCENDS:
                continue
            if count >= NODES_MAX:
                branch.is_cut = True
                break
            child = await _seen(runs, project_id, link.to_run_id)
            if child is None:
                continue
            branch.children.append(Branch(child, link.relation))
            queue.append(branch.children[-1])
            count += 1
    return root


async def surroundings(runs: Runs, project_id: ProjectId, run: Run) -> Graph:
    """Everything that hangs together with `run`, nearest first, at most `NODES_MAX` runs."""
    graph = Graph({run.run_id: run})
    queue = deque([run])
    known: set[tuple[RunId, RunId, str]] = set()
    while queue:
        at = queue.popleft()
        if not await _shows_links(runs, project_id, at):
            continue
        for link in await runs.links(at):
            edge = link.from_run_id, link.to_run_id, link.relation
            other = link.to_run_id if link.from_run_id == at.run_id else link.from_run_id
            if edge in known:
                continue
            known.add(edge)
            if other not in graph.runs:
                if len(graph.runs) >= NODES_MAX:
                    graph.is_cut = True
                    continue
                found = await _seen(runs, project_id, other)
                if found is None:
                    continue
                graph.runs[other] = found
                queue.append(found)
            graph.links.append(link)
    return graph


async def _seen(runs: Runs, project_id: ProjectId, run_id: RunId) -> Run | None:
    run = await runs.store.reads.run(run_id)
    if run is None:
        return None
    aspects = await runs.aspects(project_id, run)
    return run if aspects is None or STATUS in aspects else None


async def _shows_links(runs: Runs, project_id: ProjectId, run: Run) -> bool:
    aspects = await runs.aspects(project_id, run)
    return aspects is None or "links" in aspects
