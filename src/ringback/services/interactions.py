"""Questions that runs ask of people: asked by an attempt, answered once, over in time, withdrawn by or with who asked.

A question is known by its run and the key that the work gave it, so a later attempt that asks the same finds the answer which an
earlier one got. Its id is derived from both with a secret of this installation: nobody can guess one, none is used twice.

The row of a question changes only together with its run's version, which is what makes an answer single: whoever decides on a
version that somebody else moved decides again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ringback.domain.decide import decide
from ringback.domain.errors import (
    AlreadyAnsweredError,
    CancelRequestedError,
    ConflictError,
    NotFoundError,
    RingbackError,
    StaleFenceError,
)
from ringback.domain.ids import InteractionId, ProjectId, RunId
from ringback.domain.moments import SECOND, Micros, Moment, rfc3339
from ringback.domain.runs import Ask, AttemptReason, CloseInteraction, Run
from ringback.domain.states import Status
from ringback.engine.bells import Bells
from ringback.ports.clock import Clock
from ringback.ports.store import Desk, Store
from ringback.services.access import Respondent, admit_respondent
from ringback.services.questions import Answer, Interaction, check_answer, check_question, interaction_of

log = logging.getLogger(__name__)

TRIES = 20
STORED = ("title", "description", "options", "responseSchema", "onExpiry", "default", "respondents", "key")


@dataclass(slots=True, kw_only=True)
class Interactions:
    """Asks, lists, answers and lets expire."""

    store: Store
    clock: Clock
    bells: Bells
    pepper: bytes
    look_every: Micros = SECOND

    async def of_run(self, run: Run) -> list[Interaction]:
        """All of a run, oldest first."""
        rows = await self.store.reads.rows("interactions_of_run", {"run_id": run.run_id})
        return [interaction_of(row) for row in rows]

    async def get(self, project_id: ProjectId, interaction_id: str) -> tuple[Interaction, Run]:
        """A question and its run.

        Raises:
            NotFoundError: none in this project.
        """
        found = await self._load(InteractionId(interaction_id))
        run = None if found is None else await self.store.reads.run(found.run_id)
        if found is None or run is None or run.project_id != project_id:
            raise NotFoundError("interaction", interaction_id)
        return found, run

    async def ask(self, run_id: RunId, fence: int, question: Mapping[str, Any]) -> Interaction:
        """Open a question of the attempt that holds `fence`, or find it as it stands when it was asked before.

        Raises:
            StaleFenceError: the attempt no longer holds the run.
            InvalidInputError: what is wrong with the question.
            IllegalTransitionError: another blocking question is open.
        """
        check_question(question)
        for _ in range(TRIES):
            run = await self._holding(run_id, fence)
            since = await self._since(run)
            known = [each for each in await self.of_run(run) if each.question["key"] == question["key"]]
            assert since is not None
            before = [each for each in known if each.is_open and each.opened_at < since]
            if known and not before and _counts(known[-1], run, since):
                return known[-1]
            if run.status is Status.CANCELING:
                raise CancelRequestedError(run_id)
            asked = self._asked(run, question, nth=len(known))
            try:
                await self.store.commit(partial(_open, seen=run, asked=asked, before=before), runs=(run_id,))
            except ConflictError:
                continue
            return asked
        raise ConflictError

    def _asked(self, run: Run, question: Mapping[str, Any], *, nth: int) -> Interaction:
        now = self.clock.now()
        expires_in_s = question.get("expiresInS")
        return Interaction(
            interaction_id=self._id_of(run.run_id, question["key"], nth),
            run_id=run.run_id,
            kind=question["kind"],
            is_blocking=bool(question.get("blocking", True)),
            status="open",
            question={name: question[name] for name in STORED if name in question},
            expires_at=None if expires_in_s is None else now + round(expires_in_s * SECOND),
            opened_at=now,
            closed_at=None,
            response=None,
        )

    def _id_of(self, run_id: RunId, key: str, nth: int) -> InteractionId:
        seed = json.dumps([run_id, key, nth]).encode()
        return InteractionId("int_" + hashlib.blake2b(seed, key=self.pepper[:64], digest_size=16).hexdigest())

    async def held(self, run_id: RunId, fence: int, interaction_id: str) -> Interaction:
        """How a question of the run stands, for the attempt that holds `fence`.

        Raises:
            StaleFenceError: the attempt no longer holds the run.
            NotFoundError: none of this run.
        """
        await self._holding(run_id, fence)
        found = await self._load(InteractionId(interaction_id))
        if found is None or found.run_id != run_id:
            raise NotFoundError("interaction", interaction_id)
        return found

    async def unheard(self, run_id: RunId) -> Interaction | None:
        """The question of the work under way that was over last, if its time ran out and nothing counts in its place."""
        run = await self.store.reads.run(run_id)
        since = None if run is None else await self._since(run)
        if run is None or since is None:
            return None
        over = [each for each in await self.of_run(run) if each.closed_at is not None and each.opened_at >= since]
        last = max(over, key=lambda each: each.closed_at or 0, default=None)
        return last if last is not None and last.status == "expired" and last.response is None else None

    async def take_back(self, run_id: RunId, fence: int, key: str) -> Interaction | None:
        """Withdraw the question that the attempt knows by `key`; how it then stands. Without one nothing happens.

        Raises:
            StaleFenceError: the attempt no longer holds the run.
        """
        run = await self._holding(run_id, fence)
        known = [each for each in await self.of_run(run) if each.question["key"] == key]
        if not known or not known[-1].is_open:
            return known[-1] if known else None
        try:
            return await self.withdraw(run.project_id, known[-1].interaction_id)
        except AlreadyAnsweredError:
            return await self._load(known[-1].interaction_id)

    async def withdraw(self, project_id: ProjectId, interaction_id: str) -> Interaction:
        """Let nobody answer a question any more; what it then is. Repeating it changes nothing.

        Raises:
            NotFoundError: none in this project.
            AlreadyAnsweredError: it was over before; the error shows how.
        """
        for _ in range(TRIES):
            found, run = await self.get(project_id, interaction_id)
            if found.status == "withdrawn":
                return found
            if not found.is_open:
                raise AlreadyAnsweredError(found.interaction_id, found.status, found.response)
            try:
                await self._close(found, run, "withdrawn", None)
            except ConflictError:
                continue
            return (await self.get(project_id, interaction_id))[0]
        raise ConflictError

    async def respond(
        self, project_id: ProjectId, interaction_id: str, answer: Answer, *, by: Respondent
    ) -> Interaction:
        """Answer a question; what it then is.

        Raises:
            NotFoundError: none in this project.
            NotARespondentError: it is put to others.
            InvalidInputError: no answer to this question; it stays open.
            AlreadyAnsweredError: it is over; the error shows how.
        """
        for _ in range(TRIES):
            found, run = await self.get(project_id, interaction_id)
            admit_respondent(by, found.respondents)
            if not found.is_open:
                raise AlreadyAnsweredError(found.interaction_id, found.status, found.response)
            if run.is_terminal:  # the row will say so in a moment
                raise AlreadyAnsweredError(found.interaction_id, "withdrawn", None)
            check_answer(found, answer)
            given: dict[str, Any] = {"submittedBy": by.name, "submittedAt": rfc3339(self.clock.now())}
            given |= {
                name: value
                for name, value in (("decision", answer.decision), ("selectedOptionId", answer.selected_option_id))
                if value is not None
            }
            if answer.has_payload:
                given["payload"] = answer.payload
            if by.link_id is not None:
                given["linkId"] = by.link_id
            try:
                status = "rejected" if answer.is_rejection else "answered"
                await self._close(found, run, status, given, link_id=by.link_id)
            except ConflictError:
                continue
            return (await self.get(project_id, interaction_id))[0]
        raise ConflictError

    async def expire(self) -> int:
        """Close what is overdue; how many."""
        rows = await self.store.reads.rows("expired_interactions", {"now": self.clock.now()})
        count = 0
        for row in rows:
            found = await self._load(row["interaction_id"])
            run = None if found is None else await self.store.reads.run(found.run_id)
            if found is None or run is None or not found.is_open:
                continue
            try:
                await self._close(found, run, "expired", _on_expiry(found))
                count += 1
            except RingbackError:  # moved meanwhile: the next look decides
                continue
        return count

    async def run(self) -> None:
        """Let questions expire, until cancelled."""
        while True:
            try:
                await self.expire()
            except Exception:  # the loop's last line of defence; CancelledError passes
                log.exception("expiry of questions failed")
            await asyncio.sleep(self.look_every / SECOND)

    async def _close(
        self,
        found: Interaction,
        seen: Run,
        status: str,
        response: Mapping[str, Any] | None,
        *,
        link_id: str | None = None,
    ) -> None:
        values: dict[str, Any] = {"interaction_id": found.interaction_id, "status": status}
        values["response"] = None if response is None else json.dumps(response)

        since = await self._since(seen)
        close = CloseInteraction(found.interaction_id, status, since is not None and found.opened_at >= since)

        def work(desk: Desk) -> Run:
            run = _unmoved(desk, seen)
            desk.write("close_interaction", {**values, "now": desk.now})
            if link_id is not None:
                desk.write("use_answer_link", {"link_id": link_id, "now": desk.now})
            return desk.save(decide(run, close, now=desk.now))

        self.bells.answered(await self.store.commit(work, runs=(seen.run_id,)))

    async def _holding(self, run_id: RunId, fence: int) -> Run:
        run = await self.store.reads.run(run_id)
        if run is None or run.fence != fence or not run.is_held:
            raise StaleFenceError(run_id, fence, 0 if run is None else run.fence)
        return run

    async def _since(self, run: Run) -> Moment | None:
        """When the work began whose questions the run counts; None: it counts none.

        It goes on over attempts that gave their slot back for an answer. What an attempt asked that ended otherwise is no longer
        counted, though its row may stay open until the outbox is paid.
        """
        since: Moment | None = None
        if run.attempt is not None:
            since, reason = run.attempt.claimed_at, run.attempt.reason
        elif run.status is Status.RETRYING:
            reason = run.next_reason
        else:
            return None
        if reason is AttemptReason.ANSWER:
            for ended in reversed(await self.store.reads.attempts(run.run_id)):
                since = ended.attempt.claimed_at
                if ended.attempt.reason is not AttemptReason.ANSWER:
                    break
        return since

    async def _load(self, interaction_id: InteractionId) -> Interaction | None:
        rows = await self.store.reads.rows("interaction", {"interaction_id": interaction_id})
        return interaction_of(rows[0]) if rows else None


def _counts(known: Interaction, run: Run, since: Moment) -> bool:
    """Whether a question that was asked before is the one that is asked now.

    One that was withdrawn is, if the same work asked it before it gave its slot back: it then hears that nobody answers.
    """
    if known.status != "withdrawn":
        return True
    return run.attempt is not None and since <= known.opened_at < run.attempt.claimed_at


def _open(desk: Desk, *, seen: Run, asked: Interaction, before: Sequence[Interaction]) -> None:
    """Ask, in place of what an attempt that is over asked `before` and nobody withdrew yet."""
    run = _unmoved(desk, seen)
    for each in before:
        withdrawn = {"interaction_id": each.interaction_id, "status": "withdrawn", "response": None}
        desk.write("close_interaction", {**withdrawn, "now": desk.now})
    ask = Ask(asked.interaction_id, asked.is_blocking, asked.question["title"])
    desk.save(decide(run, ask, now=desk.now))
    values: dict[str, Any] = {"interaction_id": asked.interaction_id, "run_id": asked.run_id, "kind": asked.kind}
    values |= {"blocking": asked.is_blocking, "prompt": json.dumps(asked.question)}
    desk.write("insert_interaction", {**values, "expires_at": asked.expires_at, "opened_at": asked.opened_at})


def _unmoved(desk: Desk, seen: Run) -> Run:
    run = desk.run(seen.run_id)
    if run.version != seen.version:
        raise ConflictError
    return run


def _on_expiry(found: Interaction) -> dict[str, Any] | None:
    match found.question.get("onExpiry", "fail"):
        case "default":
            return {"payload": found.question["default"]}
        case "reject":
            return {"decision": "reject"}
        case _:
            return None
