"""What the programs of an attempt may do with its token: ask people, look how that stands, take it back, tell how far they are.

A function counts its questions; a shell script, whose every question is a process of its own, does not. So the ledger counts for
it: each request that brings no key of its own gets the next number under its title, and a later attempt that asks in the same
order finds the answers of an earlier one. A request that is repeated (its answer was lost) stays the question that it was.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ringback.domain.errors import ConflictError, Flaw, InvalidInputError, NotFoundError, UnauthenticatedError
from ringback.domain.json_values import text_flaw
from ringback.domain.runs import Append, Run
from ringback.engine.apply import apply
from ringback.engine.bells import Bells, ring_within
from ringback.ports.store import Desk, Store
from ringback.services.interactions import Interactions
from ringback.services.questions import KEY_MAX, TITLE_MAX, Interaction
from ringback.services.run_tokens import RunTokens

REQUEST_ID_MAX = 100
TRIES = 100


@dataclass(slots=True, kw_only=True)
class Asking:
    """Serves the holders of run tokens."""

    store: Store
    bells: Bells
    interactions: Interactions
    tokens: RunTokens
    _is_closing: bool = False
    _waits: set[asyncio.Event] = field(default_factory=set)

    def close(self) -> None:
        """End every wait: the process is going down, and who waits asks again."""
        self._is_closing = True
        for event in self._waits:
            event.set()

    async def admit(self, token: str) -> Run:
        """The run whose attempt calls.

        Raises:
            UnauthenticatedError: the token is none of an attempt that is under way.
        """
        return await self.tokens.attempt(token)

    async def ask(self, run: Run, question: Mapping[str, Any], *, request_id: str | None) -> Interaction:
        """Open a question, or find it as it stands.

        Raises:
            InvalidInputError: what is wrong with it.
            IllegalTransitionError: another blocking question is open.
        """
        if "key" not in question:
            question = {**question, "key": await self._key(run, question, request_id)}
        asked = await self.interactions.ask(run.run_id, run.fence, question)
        self.bells.answered(run)  # its worker lets the idle limit rest
        return asked

    async def see(self, run: Run, interaction_id: str, *, within_s: float) -> Interaction:
        """A question of the run when it is over, or as it stands after `within_s` seconds.

        Raises:
            NotFoundError: none of this run.
        """
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        give_up = loop.time() + within_s
        stop = self.bells.watch(run.run_id, lambda _: changed.set())
        self._waits.add(changed)
        try:
            while True:
                changed.clear()
                found = await self._own(run, interaction_id)
                left = give_up - loop.time()
                if not found.is_open or left <= 0 or self._is_closing:
                    return found
                await ring_within(changed, left)
        finally:
            self._waits.discard(changed)
            stop()

    async def withdraw(self, run: Run, interaction_id: str) -> Interaction:
        """Take a question of the run back.

        Raises:
            NotFoundError: none of this run.
            AlreadyAnsweredError: it is over; the error shows how.
        """
        found = await self._own(run, interaction_id)
        return await self.interactions.withdraw(run.project_id, found.interaction_id)

    async def progress(self, run: Run, progress: Mapping[str, Any]) -> None:
        """Tell how far the work is.

        Raises:
            StaleFenceError: the attempt ended meanwhile.
        """
        await apply(self.store, run.run_id, Append(run.fence, (), progress))

    async def _own(self, run: Run, interaction_id: str) -> Interaction:
        found, owner = await self.interactions.get(run.project_id, interaction_id)
        if found.run_id != run.run_id:
            raise NotFoundError("interaction", interaction_id)
        if owner.is_terminal or owner.fence != run.fence:
            raise UnauthenticatedError  # the attempt ended meanwhile, and its token with it
        return found

    async def _key(self, run: Run, question: Mapping[str, Any], request_id: str | None) -> str:
        title = question.get("title")
        if not isinstance(title, str) or not 1 <= len(title) <= TITLE_MAX:
            raise InvalidInputError(Flaw("/title", f"must have 1 to {TITLE_MAX} characters"))
        if request_id is None or not 1 <= len(request_id) <= REQUEST_ID_MAX or text_flaw(request_id):
            raise InvalidInputError(Flaw("/requestId", f"1 to {REQUEST_ID_MAX} characters, or give a key"))
        for _ in range(TRIES):
            asked = {"run_id": run.run_id, "fence": run.fence}
            taken: dict[str, str] = {
                row["key"]: row["request_id"] for row in await self.store.reads.rows("asked_keys", asked)
            }
            mine = next((key for key, by in taken.items() if by == request_id), None)
            if mine is not None:
                return mine
            names = (_numbered(n, title) for n in range(1, len(taken) + 2))
            values = {**asked, "key": next(each for each in names if each not in taken), "request_id": request_id}
            await self.store.commit(partial(_take, values=values))
        raise ConflictError


def _take(desk: Desk, *, values: Mapping[str, Any]) -> None:
    desk.write("insert_asked_key", values)


def _numbered(nth: int, title: str) -> str:
    """The name of the nth question of a title. A long title is told from others by a digest."""
    key = f"{nth}. {title}"
    if len(key) <= KEY_MAX:
        return key
    return f"{key[: KEY_MAX - 18]}… {hashlib.blake2b(title.encode(errors='replace'), digest_size=8).hexdigest()}"
