"""Which runs came from which: a run's descendants, bounded, so that a run that starts thousands still has an answer."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ringback.domain.runs import Run
from ringback.ports.store import Store

NODES_MAX = 500
DESCENDS = ("tool_subrun", "delegation", "handoff", "mcp_session", "follow_up")  # from the older run to the younger


@dataclass(slots=True)
class Branch:
    """A run and what came from it. `is_cut` says that it has descendants which are not shown."""

    run: Run
    relation: str | None
    children: list[Branch] = field(default_factory=list)
    is_cut: bool = False


async def family(store: Store, run: Run) -> Branch:
    """The descendants of `run`, breadth first, at most `NODES_MAX` runs. Those of other projects are left out."""
    root = Branch(run, None)
    queue, count = deque([root]), 1
    while queue:
        branch = queue.popleft()
        for link in await store.reads.links(branch.run.run_id):
            if link.relation not in DESCENDS:
                continue
            if count >= NODES_MAX:
                branch.is_cut = True
                break
            child = await store.reads.run(link.to_run_id)
            if child is None or child.project_id != run.project_id:
                continue
            branch.children.append(Branch(child, link.relation))
            queue.append(branch.children[-1])
            count += 1
    return root
