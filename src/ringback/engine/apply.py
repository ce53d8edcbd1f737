"""The one path by which a run changes: load, decide, save."""

from __future__ import annotations

from ringback.domain.decide import decide
from ringback.domain.ids import RunId
from ringback.domain.runs import Command, Run
from ringback.ports.store import Desk, Store


async def apply(store: Store, run_id: RunId, command: Command) -> Run:
    """Carry out `command` and return the run as it now stands, durably.

    Raises:
        NotFoundError: no such run.
        StaleFenceError, IllegalTransitionError, CancelRequestedError: see `decide`; nothing changed.
        StoreUnavailableError: nothing changed; try again.
    """
    return await store.commit(lambda desk: apply_on(desk, run_id, command), runs=(run_id,))


def apply_on(desk: Desk, run_id: RunId, command: Command) -> Run:
    """The same within a unit of work that has the run on its desk."""
    return desk.save(decide(desk.run(run_id), command, now=desk.now))
