"""What goes down with a new run, in one transaction: links, and what it means to the runs it comes from or waits for."""

from __future__ import annotations

from dataclasses import dataclass

from ringback.domain.decide import create, decide
from ringback.domain.errors import DependencyError, Flaw, InvalidInputError, NotFoundError
from ringback.domain.ids import ProjectId, RunId, run_id_of
from ringback.domain.moments import Moment
from ringback.domain.records import replace
from ringback.domain.runs import NoteChild, NoteDependent, NoteDescendant, Run, RunFacts
from ringback.engine.outbox import FOLLOWS_CANCEL
from ringback.ports.store import Desk, Link
from ringback.services.grants import Grant, note_use
from ringback.services.lineage import Bound
from ringback.services.start_request import StartRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The attempt that starts a child."""

    run_id: RunId
    fence: int
    relation: str = "tool_subrun"


@dataclass(frozen=True, slots=True)
class Newborn:
    """A run before it is put down, and all that it has to do with. `project_id` is the caller's."""

    facts: RunFacts
    template: Run
    request: StartRequest
    project_id: ProjectId
    parent: Parent | None = None
    bounds: tuple[Bound, ...] = ()
    grant: Grant | None = None

    def others(self) -> tuple[RunId, ...]:
        """The runs that must lie on the desk."""
        earlier = run_id_of(self.request.follow_up_of or "")
        found = (
            *self.facts.depends_on,
            *((self.parent.run_id,) if self.parent else ()),
            *(bound.run_id for bound in self.bounds),
            *((earlier,) if earlier else ()),
        )
        return tuple(dict.fromkeys(found))


def put_down(desk: Desk, newborn: Newborn) -> Run:
    """Create the run with its first event and its links."""
    facts, template, parent = newborn.facts, newborn.template, newborn.parent
    upstream = {each: _upstream_run(desk, newborn, each) for each in facts.depends_on}
    earlier = _earlier_run(desk, newborn)
    deadline_at = _deadline(desk, template)
    if parent is not None:
        _note_on_parents(desk, newborn, parent)
        if parent.relation in FOLLOWS_CANCEL:
            deadline_at = _earliest(deadline_at, desk.run(parent.run_id).deadline_at)
    born = replace(template, created_at=desk.now, deadline_at=deadline_at)
    run = desk.add(facts, create(born, {each: up.status for each, up in upstream.items()}, now=desk.now))
    for upstream_id, up in upstream.items():
        if not up.is_terminal:
            desk.save(decide(up, NoteDependent(), now=desk.now))
        _link(desk, run.run_id, upstream_id, "depends_on")
    if parent is not None:
        _link(desk, parent.run_id, run.run_id, parent.relation)
    if newborn.request.rerun_of is not None:
        _link(desk, run.run_id, newborn.request.rerun_of, "rerun_of")
    if earlier is not None:
        _link(desk, earlier.run_id, run.run_id, "follow_up")
    if newborn.grant is not None:
        note_use(desk, newborn.grant, run.run_id, facts.created_by or "")
    return run


def _note_on_parents(desk: Desk, newborn: Newborn, parent: Parent) -> None:
    note = NoteChild(parent.fence, newborn.facts.run_id, parent.relation)
    desk.save(decide(desk.run(parent.run_id), note, now=desk.now))
    for bound in newborn.bounds:
        grown = NoteDescendant(bound.generations, bound.budget)
        desk.save(decide(desk.run(bound.run_id), grown, now=desk.now))


def _link(desk: Desk, from_run_id: RunId, to_run_id: RunId, relation: str) -> None:
    desk.link(Link(from_run_id=from_run_id, to_run_id=to_run_id, relation=relation, created_at=desk.now))


def _deadline(desk: Desk, template: Run) -> Moment | None:
    total = template.policy.limits.total
    return None if total is None else desk.now + total


def _earliest(one: Moment | None, other: Moment | None) -> Moment | None:
    known = [each for each in (one, other) if each is not None]
    return min(known) if known else None


def _upstream_run(desk: Desk, newborn: Newborn, run_id: RunId) -> Run:
    run = _own(desk, newborn, run_id)
    if run is None:
        index = next(i for i, text in enumerate(newborn.request.depends_on) if run_id_of(text) == run_id)
        raise DependencyError(Flaw(f"/depends_on/{index}", "no such run"))
    return run


def _earlier_run(desk: Desk, newborn: Newborn) -> Run | None:
    named = newborn.request.follow_up_of
    if named is None:
        return None
    run_id = run_id_of(named)
    run = None if run_id is None else _own(desk, newborn, run_id)
    if run is None:
        raise InvalidInputError(Flaw("/follow_up_of", "no such run"))
    return run


def _own(desk: Desk, newborn: Newborn, run_id: RunId) -> Run | None:
    try:
        run = desk.run(run_id)
    except NotFoundError:
        return None
    return run if run.project_id == newborn.project_id else None
