"""Tokens that open one run to whoever holds them, and nothing else: for programs that poll without an account.

A token has 256 random bits, is shown once and kept as a keyed hash. A wrong, an expired and a revoked token, one of another run
and a run that does not exist are told from each other by nobody.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from ringback.domain.errors import NotFoundError
from ringback.domain.ids import run_id_of
from ringback.domain.moments import DAY, SECOND, Micros, Moment
from ringback.domain.runs import Run
from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Desk, Row, Store
from ringback.services.audit import Deed, record

PREFIX = "rbc_"
LASTS_DEFAULT: Micros = DAY
LASTS_LEAST: Micros = SECOND
LASTS_MOST: Micros = 30 * DAY
_PURPOSE = b"capability"
_TOKEN_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """A token as it is shown, once."""

    token_id: str
    token: str
    expires_at: Moment


@dataclass(slots=True, kw_only=True)
class Capabilities:
    """Issues, checks and revokes them."""

    store: Store
    clock: Clock
    ids: Ids
    pepper: bytes

    async def issue(self, run: Run, *, by: str, lasts: Micros = LASTS_DEFAULT) -> Capability:
        """A new token for `run`."""
        token, expires_at = PREFIX + secrets.token_urlsafe(32), self.clock.now() + lasts
        issued = Capability(token_id=self.ids.new(), token=token, expires_at=expires_at)
        values = {"token_id": issued.token_id, "digest": self._digest(token), "run_id": run.run_id, "issued_by": by}
        facts = {"tokenId": issued.token_id}

        def work(desk: Desk) -> None:
            desk.write("insert_capability_token", {**values, "created_at": desk.now, "expires_at": expires_at})
            action = "capability.issued"
            record(desk, Deed(actor=by, action=action, subject=run.run_id, project_id=run.project_id, facts=facts))

        await self.store.commit(work)
        return issued

    async def opened(self, name: str, token: str) -> Run:
        """The run that `name` spells, if the token opens it.

        Raises:
            NotFoundError: it does not, for whatever reason.
        """
        run_id = run_id_of(name)
        rows = await self.store.reads.rows("capability_by_digest", {"digest": self._digest(token[:_TOKEN_MAX])})
        if not rows or rows[0]["run_id"] != run_id or not _is_valid(rows[0], self.clock.now()):
            raise NotFoundError("run", name)
        run = await self.store.reads.run(rows[0]["run_id"])
        if run is None:
            raise NotFoundError("run", name)
        return run

    async def of(self, run: Run) -> Sequence[Row]:
        """The tokens of a run, newest first, without what would open it."""
        return await self.store.reads.rows("capabilities_of_run", {"run_id": run.run_id})

    async def revoke(self, run: Run, token_id: str, *, by: str) -> None:
        """Close the run to a token, at once. Repeating it changes nothing.

        Raises:
            NotFoundError: the run has no such token.
        """
        if all(row["token_id"] != token_id for row in await self.of(run)):
            raise NotFoundError("capability token", token_id)
        facts = {"tokenId": token_id}

        def work(desk: Desk) -> None:
            desk.write("revoke_capability_token", {"token_id": token_id, "run_id": run.run_id, "now": desk.now})
            action = "capability.revoked"
            record(desk, Deed(actor=by, action=action, subject=run.run_id, project_id=run.project_id, facts=facts))

        await self.store.commit(work)

    def _digest(self, token: str) -> str:
        key, text = self.pepper[:64], token.encode(errors="replace")
        return hashlib.blake2b(text, key=key, digest_size=32, person=_PURPOSE).hexdigest()


def _is_valid(row: Row, now: Moment) -> bool:
    return row["revoked_at"] is None and bool(row["expires_at"] > now)
