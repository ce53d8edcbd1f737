"""A worker session: one process incarnation that holds attempts under one lease.

The lease belongs to the incarnation and not to the worker's name (decision 0007): a new process of the same name keeps nothing
of the old one alive. A session that is over never comes back; its worker attaches anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ringback.domain.admission import offer_of
from ringback.domain.errors import SessionExpiredError
from ringback.domain.ids import SessionId
from ringback.domain.moments import Micros, Moment
from ringback.domain.records import replace
from ringback.domain.runtimes import PROTOCOL_VERSIONS, Attachment


@dataclass(frozen=True, kw_only=True)
class Session:
    """One attach of one worker process. `ended_at` is set once, whether it detached or fell silent.

    Attributes:
        connection_id: what all attaches of one runtime have in common; each has the next epoch.
        capability_set: the name of what was agreed at this attach.
        attached_by: who did; nobody else can go on with the connection.
        provider: what attempts say of who carries them out.
    """

    session_id: SessionId
    name: str
    incarnation: str
    slots: int
    offers: frozenset[str]
    labels: Mapping[str, str]
    attached_at: Moment
    heartbeat_at: Moment
    lease_until: Moment
    connection_id: str = ""
    epoch: int = 0
    protocol_version: int = PROTOCOL_VERSIONS[-1]
    capability_set: str | None = None
    attached_by: str = ""
    provider: str = "local"
    ended_at: Moment | None = None
    end_reason: str | None = None

    @property
    def attachment(self) -> Attachment:
        """What attempts freeze of it."""
        return Attachment(self.connection_id, self.epoch, self.capability_set)

    def can_serve(self, lane: str) -> bool:
        return offer_of(lane) in self.offers


def beat(session: Session, *, now: Moment, lease: Micros) -> Session:
    """Renew the lease.

    Raises:
        SessionExpiredError: it is over, or its lease has run out: nothing may prolong it any more.
    """
    if session.ended_at is not None or session.lease_until <= now:
        raise SessionExpiredError(session.session_id)
    return replace(session, heartbeat_at=now, lease_until=now + lease)


def end(session: Session, *, now: Moment, reason: str) -> Session:
    """Close the session; closing it again changes nothing."""
    return session if session.ended_at is not None else replace(session, ended_at=now, end_reason=reason)
