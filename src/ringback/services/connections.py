"""Connections of runtimes: attaching, coming back with the next epoch, being made to come back, and what was agreed.

A connection outlives its sessions. Each attach is a session of its own with the next epoch, and ends the one before: what that
one still held ends as lost, by the rules of its lease, and whatever still writes for it is refused. Going on with a connection
takes its id, the same owner and its last epoch; whoever comes with anything else gets a new one, so that a process that slept
through its successor's attach takes nothing away from it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringback.domain.errors import NotFoundError
from ringback.domain.ids import SessionId
from ringback.domain.moments import SECOND, Micros
from ringback.domain.runs import Run
from ringback.domain.runtimes import Capability, negotiate, set_name_of
from ringback.domain.sessions import Session, end
from ringback.engine.bells import Bells
from ringback.engine.sweeper import Sweeper
from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Desk, Store
from ringback.services.audit import Deed, record

SUPERSEDED = "superseded"
FORCED = "reconnect_forced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attach:
    """What a runtime says of itself.

    Attributes:
        connection_id: the connection that it goes on with; `epoch` is the last one that it had there, if it remembers.
    """

    name: str
    incarnation: str
    slots: int
    offers: tuple[str, ...]
    labels: Mapping[str, str]
    capabilities: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...]
    protocol_version: int
    connection_id: str | None = None
    epoch: int | None = None
    provider: str = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    """A session with what was agreed and the attempts that it holds."""

    session: Session
    capabilities: Sequence[Mapping[str, Any]]
    runs: Sequence[Run]


@dataclass(slots=True, kw_only=True)
class Connections:
    """Opens sessions, and knows what was agreed at each."""

    store: Store
    clock: Clock
    ids: Ids
    bells: Bells
    sweeper: Sweeper
    lease: Micros = 15 * SECOND
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _sets: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    async def open(self, owner: str, hello: Attach) -> Session:
        """A new session, of the connection that the runtime goes on with or of a new one."""
        agreed = negotiate(hello.capabilities)
        async with self._one_at_a_time:
            before = await self._before(owner, hello)
            session = self._session(owner, hello, before, set_name_of(agreed))
            ids = () if before is None else (before.session_id,)
            await self.store.commit(lambda desk: _open(desk, session, agreed, ids), sessions=ids)
        if before is not None:
            self.bells.forget(before.session_id)
            await self.sweeper.end_orphans()
        self.bells.bell_of(session)
        return session

    async def _before(self, owner: str, hello: Attach) -> Session | None:
        if hello.connection_id is None:
            return None
        found = await self.store.reads.sessions(live_only=False, connection_id=hello.connection_id)
        if not found or found[0].attached_by != owner or hello.epoch not in (None, found[0].epoch):
            return None
        return found[0]

    def _session(self, owner: str, hello: Attach, before: Session | None, capability_set: str) -> Session:
        now = self.clock.now()
        return Session(
            session_id=SessionId(self.ids.new()),
            name=hello.name,
            incarnation=hello.incarnation,
            slots=hello.slots,
            offers=frozenset(hello.offers),
            labels=hello.labels,
            attached_at=now,
            heartbeat_at=now,
            lease_until=now + self.lease,
            connection_id=self.ids.new() if before is None else before.connection_id,
            epoch=0 if before is None else before.epoch + 1,
            protocol_version=hello.protocol_version,
            capability_set=capability_set,
            attached_by=owner,
            provider=hello.provider,
        )

    async def reconnect(self, connection_id: str, *, by: str, reason: str | None) -> Session:
        """End the session of a connection; its runtime hears of it with its next request and attaches anew.

        Raises:
            NotFoundError: no such connection, or nobody is attached with it.
        """
        found = await self.store.reads.sessions(live_only=False, connection_id=connection_id)
        session = next((each for each in found[:1] if each.ended_at is None), None)
        if session is None:
            raise NotFoundError("attached runtime connection", connection_id)
        facts = {"sessionId": session.session_id, "epoch": session.epoch, "reason": reason}
        deed = Deed(
            actor=by, action="runtime_connection.reconnected", subject=connection_id, project_id=None, facts=facts
        )

        def work(desk: Desk) -> Session:
            ended = end(desk.session(session.session_id), now=desk.now, reason=FORCED)
            desk.save_session(ended)
            record(desk, deed)
            return ended

        ended = await self.store.commit(work, sessions=(session.session_id,))
        self.bells.forget(session.session_id)
        await self.sweeper.end_orphans()
        return ended

    async def list(self, *, live_only: bool = True) -> list[Connected]:
        """Sessions, the last attach first, each with the attempts that it holds."""
        reads = self.store.reads
        sessions = await reads.sessions(live_only=live_only)
        sets = await self.sets(each.capability_set for each in sessions)
        return [
            Connected(
                session=each,
                capabilities=sets.get(each.capability_set or "", ()),
                runs=await reads.runs_held_by(each.session_id) if each.ended_at is None else (),
            )
            for each in sessions
        ]

    async def sets(self, names: Iterable[str | None]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """What was agreed (public descriptors), by the names that attempts and sessions freeze."""
        if strange := sorted({name for name in names if name is not None} - self._sets.keys()):
            rows = await self.store.reads.rows("capability_sets", {"names": json.dumps(strange)})
            self._sets |= {row["capability_set"]: json.loads(row["capabilities"]) for row in rows}
        return self._sets


def _open(desk: Desk, session: Session, agreed: Sequence[Capability], before: Sequence[SessionId]) -> None:
    for session_id in before:
        desk.save_session(end(desk.session(session_id), now=desk.now, reason=SUPERSEDED))
    capabilities = json.dumps([each.shown() for each in agreed])
    values = {"capability_set": session.capability_set, "capabilities": capabilities, "since": desk.now}
    desk.write("insert_capability_set", values)
    desk.save_session(session, is_new=True)
