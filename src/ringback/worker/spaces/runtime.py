"""Gives an attempt a space of its own, if its profile asks for one, and takes it down before the outcome is told.

    provisioning → ready → occupied → (the command) → reclaiming → terminated

What can't be made ends the attempt with the reason, before anything of it ran. Taking down is seen through whatever happens; what
this worker can't finish, because it was killed, the next worker of the data folder does.
"""

import asyncio
import logging
import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ringback.domain.spaces import CONTAINER, DIRECTORY, WORKTREE, space_of
from ringback.worker.assignment import Assignment, Outcome, Reporter, Runtime, Stop
from ringback.worker.spaces import container, worktree
from ringback.worker.spaces.programs import ProgramError
from ringback.worker.spaces.records import Record, Records, told
from ringback.worker.spaces.telling import Telling

FAILURE: Final = ("failed", "timed_out")

_log = logging.getLogger("ringback.worker.spaces")


class SpacedRuntime:
    """A runtime whose attempts may have a space of their own."""

    def __init__(self, inner: Runtime, records: Records, telling: Telling) -> None:
        """`inner` carries out what is inside of a space."""
        self._inner = inner
        self._records, self._telling = records, telling
        self.name = inner.name

    async def run(self, assignment: Assignment, reporter: Reporter, stop: Stop) -> Outcome:
        """Carry out one attempt; when this returns nothing of it is left but what was to be kept."""
        asked = space_of(assignment.profile)
        if asked["type"] == DIRECTORY:
            return await self._inner.run(assignment, reporter, stop)
        stay = _Stay(self._records, self._telling, self._inner, asked, assignment, reporter, stop)
        return await stay.carry_out()

    async def aclose(self) -> None:
        """Give back what the inner runtime holds."""
        await self._inner.aclose()


class _Stay:
    """One attempt in one space."""

    def __init__(
        self,
        records: Records,
        telling: Telling,
        inner: Runtime,
        asked: Mapping[str, Any],
        assignment: Assignment,
        reporter: Reporter,
        stop: Stop,
    ) -> None:
        self._records, self._telling, self._inner, self._asked = records, telling, inner, asked
        self._assignment, self._reporter, self._stop = assignment, reporter, stop
        self._folder = str(assignment.profile.get("cwd") or os.getcwd())  # noqa: PTH109 - no file is touched
        self._space_id = f"space-{uuid.uuid4()}"
        self._inner_folder = ""
        self._is_occupied = False

    async def carry_out(self) -> Outcome:
        try:
            record = await asyncio.to_thread(self._planned)
        except ProgramError as error:
            return _refused(error)
        self._records.put(record)
        kind = "instance" if record.type == CONTAINER else "workspace"
        provider = worktree.PROVIDER if record.type == WORKTREE else record.origin.rpartition("/")[2]
        first = told(record, "provisioning", providerType=provider, kind=kind, locator=record.locator)
        is_ours = await self._telling.put_down(record, first)
        outcome: Outcome | None = None
        try:
            outcome = await self._inside(record) if is_ours else Outcome(kind="released")
        except ProgramError as error:
            outcome = _refused(error)
        finally:
            outcome = await asyncio.shield(self._left(record, outcome))
        return outcome

    def _planned(self) -> Record:
        """The space as it is to be, before anything of it exists."""
        if self._asked["type"] == WORKTREE:
            locator = str(self._records.tree_of(self._space_id))
            origin, self._inner_folder = worktree.repository_of(self._folder)
        else:
            locator, origin = f"ringback-{self._space_id}", container.engine_of(self._asked)
        return Record(
            run_space_id=self._space_id,
            run_id=self._assignment.run_id,
            fence=self._assignment.fence,
            type=str(self._asked["type"]),
            locator=locator,
            origin=origin,
        )

    async def _inside(self, record: Record) -> Outcome:
        assignment = await asyncio.shield(asyncio.to_thread(self._provisioned, record))
        self._telling.goes_on(record, told(record, "ready"))
        if self._stop.why is not None:
            return Outcome(kind="stopped", forced=False)
        self._telling.goes_on(record, told(record, "occupied"))
        self._is_occupied = True
        return await self._inner.run(assignment, self._reporter, self._stop)

    def _provisioned(self, record: Record) -> Assignment:
        """The space exists; the assignment as it is carried out in it."""
        profile = dict(self._assignment.profile)
        profile["env"] = {**(profile.get("env") or {}), "RINGBACK_RUN_SPACE": record.run_space_id}
        if record.type == CONTAINER:
            named = replace(self._assignment, profile={**profile, "cwd": self._folder})
            prefix = container.prefix_of(record.origin, record.locator, self._asked, named)
            return replace(named, profile=container.profile_of(named.profile), prefix=prefix)
        tree = Path(record.locator)
        worktree.make(record.origin, tree, self._asked)
        inside = tree / self._inner_folder
        worktree.link(self._folder, inside, list(self._asked.get("link") or ()))
        return replace(self._assignment, profile={**profile, "cwd": str(inside)})

    async def _left(self, record: Record, outcome: Outcome | None) -> Outcome:
        """Take the space down, or keep it for people if that was asked for; the outcome, with where it is kept."""
        is_failure = outcome is not None and outcome.kind in FAILURE
        if outcome is not None and is_failure and self._asked.get("keepOnFailure") and self._is_occupied:
            self._records.remove(record.run_space_id)
            self._telling.goes_on(record, told(record, "ready", kept=True))
            detail = outcome.error_detail if isinstance(outcome.error_detail, dict) else {}
            return replace(outcome, error_detail={**detail, "keptSpace": record.locator})
        self._telling.goes_on(record, told(record, "reclaiming"))
        self._telling.ends(record, await asyncio.to_thread(take_down, record))
        self._records.remove(record.run_space_id)
        return outcome or Outcome(kind="failed", error_kind="internal", error_message="the attempt was abandoned")


def take_down(record: Record) -> Mapping[str, Any]:
    """Leave nothing of a space; the step that tells how that went."""
    try:
        if record.type == CONTAINER:
            container.remove(record.origin, record.locator)
        else:
            worktree.remove(record.origin, Path(record.locator))
    except ProgramError as error:
        _log.error("a space could not be taken down", extra={"space": record.locator, "error": str(error)})
        return told(record, "failed", reason=str(error))
    return told(record, "terminated")


def _refused(error: ProgramError) -> Outcome:
    """The space can't be made, and would not be at the next try."""
    return Outcome(kind="failed", error_kind="tool_error", error_message=str(error), retryable=False)


async def take_down_abandoned(records: Records, telling: Telling) -> int:
    """Take down what dead workers of the data folder have left; how many spaces that were."""
    count = 0
    for abandoned in records.abandoned():
        for record in abandoned.records():
            telling.ends(record, await asyncio.to_thread(take_down, record), is_found=True)
            count += 1
        abandoned.remove()
    if count:
        _log.warning("spaces of dead workers were taken down", extra={"count": count})
    return count
