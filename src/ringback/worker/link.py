"""The worker's session with the server: attach, then four lanes side by side until the session or the worker ends.

* reports: whatever the outbox holds, one request at a time, each offering the free slots for claims in its answer
* claims: one long poll at a time; it leaves the offering to the reports while those are busy, and only listens for
  cancels when nothing is free
* heartbeats: renew the lease and say what is held, so that claims whose answer got lost come to light
* the watch: judges the lease by this machine's own clocks, see `ringback.worker.lease`

What the server says is passed on to a `Holder`; what a lost answer leaves open is asked again: a batch of reports is
repeated until it is answered. When the session is over (410) everything of it is lost: the holder kills its work, the
reports are thrown away, and the worker attaches anew. A lease that ran out by the own clocks kills the work as well, but
keeps the reports: if only the server was away, the results that were reached still count (O58).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

from ringback.worker import messages
from ringback.worker.backoff import Backoff
from ringback.worker.batching import Outbox
from ringback.worker.channel import (
    Channel,
    ChannelError,
    RefusedError,
    SessionOverError,
    UnreachableServerError,
)
from ringback.worker.connection import Address
from ringback.worker.lease import Instant
from ringback.worker.messages import Cancel, Key, Result
from ringback.worker.session import Holder, Session
from ringback.worker.settlement import LOST_CODES
from ringback.worker.slots import Slots

CALL_WITHIN_S: Final = 30.0
ATTACH_WITHIN_S: Final = 15.0
DETACH_WITHIN_S: Final = 3.0
LISTEN_AFTER_S: Final = 0.05
WATCH_EVERY_S: Final = 1.0
HEARTBEAT_RETRY_MOST_S: Final = 1.0

_log = logging.getLogger("ringback.worker.link")


class Link:
    """The session, and the next one after it."""

    def __init__(
        self, *, address: Address, token: str, identity: Mapping[str, Any], outbox: Outbox, slots: Slots
    ) -> None:
        """`identity` is the body of the attach."""
        self._identity = identity
        self._connection: tuple[str, int] | None = None
        self._outbox = outbox
        self._slots = slots
        self._reports, self._claims, self._pulse = (Channel(address, token, heard=self._heard) for _ in range(3))
        self._beat_now = asyncio.Event()
        self._is_away = False
        self._offered: int | None = None
        self.session: Session | None = None
        self.contact = Instant.now()

    async def attach(self) -> Session:
        """Attach for the first time, asking again while the server can't be reached.

        Raises:
            NotAllowedError: the token is not good for a worker.
            RefusedError: the server does not take this worker, for example because of its protocol version.
        """
        backoff = Backoff()
        while True:
            try:
                return await self._attach()
            except (UnreachableServerError, SessionOverError) as error:
                await self._pause(backoff, error)

    async def serve(self, holder: Holder) -> NoReturn:
        """Run sessions one after the other until cancelled."""
        backoff = Backoff()
        while True:
            session = self.session
            if session is None:
                await self._attach_again(backoff)
                continue
            try:
                await self._run(session, holder)
            except* SessionOverError as group:
                _log.warning("session over", extra={"session": session.session_id, "error": str(group.exceptions[0])})
            self.session = None
            self._slots.redeem(self._offered or 0, 0)
            self._offered = None
            holder.lose_all(discard=True)
            self._outbox.discard_all(Result(ok=False, code="session_expired"))

    async def flush(self) -> None:
        """Wait until every report was answered."""
        await self._outbox.idle()

    async def detach(self) -> None:
        """Tell the server that this worker is gone, at most once, and close the connections."""
        session, self.session = self.session, None
        if session is not None:
            try:
                await self._pulse.call(session.path("detach"), b"{}", within_s=DETACH_WITHIN_S)
            except ChannelError as error:
                _log.warning("the server missed the detach", extra={"error": str(error)})
        for channel in (self._reports, self._claims, self._pulse):
            channel.close()

    def _heard(self) -> None:
        self.contact = Instant.now()
        if self._is_away:
            self._is_away = False
            _log.info("the server is back")

    async def _attach(self) -> Session:
        sent = Instant.now()
        body = messages.attach_body(self._identity, self._connection)
        answer = messages.ATTACHED.decode(await self._pulse.call("/v1/workers/attach", body, within_s=ATTACH_WITHIN_S))
        if answer.runtime_connection_id is not None:
            self._connection = (answer.runtime_connection_id, answer.epoch)
        self.session = Session(answer, sent)
        _log.info("attached", extra={"session": answer.session_id, "epoch": answer.epoch})
        return self.session

    async def _attach_again(self, backoff: Backoff) -> None:
        try:
            await self._attach()
            backoff.reset()
        except (ChannelError, messages.DecodeError) as error:
            await self._pause(backoff, error)

    async def _run(self, session: Session, holder: Holder) -> None:
        async with asyncio.TaskGroup() as lanes:
            lanes.create_task(self._lane(lambda: self._report(session, holder), most_s=2.0))
            lanes.create_task(self._lane(lambda: self._claim(session, holder), most_s=2.0))
            lanes.create_task(self._lane(lambda: self._beat(session, holder), most_s=HEARTBEAT_RETRY_MOST_S))
            lanes.create_task(self._watch(session, holder))

    async def _lane(self, step: Callable[[], Awaitable[None]], *, most_s: float) -> NoReturn:
        """Take steps until the session is over; one that the server did not answer is taken again after a while."""
        backoff = Backoff(most_s=most_s)
        while True:
            try:
                await step()
            except SessionOverError:
                raise
            except (ChannelError, messages.DecodeError) as error:
                await self._pause(backoff, error)
            else:
                backoff.reset()

    async def _pause(self, backoff: Backoff, error: Exception) -> None:
        if not self._is_away:
            self._is_away = True
            _log.warning("the server gives no good answer", extra={"error": str(error)})
        asked_s = error.retry_after_s if isinstance(error, UnreachableServerError) else 0.0
        await asyncio.sleep(backoff.wait_s(at_least_s=asked_s))

    async def _report(self, session: Session, holder: Holder) -> None:
        """Send one batch. Its slots stay reserved until it is answered: a lost answer may have claimed them."""
        batch = await self._outbox.batch()
        if self._offered is None:
            self._offered = self._reserve(session)
        bodies = (pending.body for pending in batch)
        body = messages.report_body(bodies, batch=self._outbox.number, slots=self._offered)
        try:
            answer = messages.REPORTED.decode(
                await self._reports.call(session.path("report"), body, within_s=CALL_WITHIN_S)
            )
            refused = self._outbox.answered(answer.results)
        except RefusedError as error:
            self._isolate(error)
            return
        offered, self._offered = self._offered, None
        self._take(holder, offered, answer.claims)
        for key, result in refused:
            _heed_refusal(holder, key, result)
        _heed(holder, answer)

    def _reserve(self, session: Session) -> int:
        return self._slots.reserve() if session.lease.remaining_s() > 0 else 0

    def _take(self, holder: Holder, reserved: int, claims: Sequence[Mapping[str, Any]]) -> None:
        count = self._slots.redeem(reserved, len(claims))
        if claims:
            holder.take(claims, count)

    def _isolate(self, error: RefusedError) -> None:
        """One report of the batch can't be taken: send them one by one, and answer the guilty one with the refusal."""
        if not self._outbox.split():
            _log.error("the server can't take a report", extra={"error": str(error)})
            self._outbox.answered([Result(ok=False, code=error.code, detail=str(error))])

    async def _claim(self, session: Session, holder: Holder) -> None:
        await self._until_worth_asking()
        reserved = self._reserve(session)
        answer = messages.Claimed()
        try:
            answer = await self._poll(session, reserved)
        finally:
            self._take(holder, reserved, answer.claims)
        _heed(holder, answer)

    async def _until_worth_asking(self) -> None:
        """Slots are offered by the reports while those are busy; after a moment the poll opens all the same."""
        try:
            async with asyncio.timeout(LISTEN_AFTER_S):
                await self._until_free()
        except TimeoutError:
            return

    async def _until_free(self) -> None:
        while not (self._slots.spare and self._outbox.is_idle):
            await self._slots.until_spare()
            await self._outbox.idle()

    async def _poll(self, session: Session, slots: int) -> messages.Claimed:
        """One long poll; given up without an answer when there is more to offer now, or nothing any more."""
        wait_s = messages.CLAIM_WAIT_MS / 1000
        body = messages.claim_body(slots, messages.CLAIM_WAIT_MS)
        poll = asyncio.ensure_future(self._claims.call(session.path("claim"), body, within_s=wait_s + 10))
        changed = asyncio.ensure_future(self._changed(slots))
        try:
            await asyncio.wait({poll, changed}, return_when=asyncio.FIRST_COMPLETED)
            return messages.CLAIMED.decode(poll.result()) if poll.done() else messages.Claimed()
        finally:
            poll.cancel()
            changed.cancel()
            await asyncio.gather(poll, changed, return_exceptions=True)

    async def _changed(self, slots: int) -> None:
        """Wait until another number of slots should be offered than by a poll that offers `slots`."""
        if slots:
            await self._slots.closed.wait()
        else:
            await self._until_free()

    async def _beat(self, session: Session, holder: Holder) -> None:
        sent = Instant.now()
        body = messages.heartbeat_body(holder.held())
        raw = await self._pulse.call(session.path("heartbeat"), body, within_s=max(1.0, session.lease.lease_s / 3))
        answer = messages.BEATEN.decode(raw)
        session.lease.renew(sent=sent)
        session.renewed.set()
        for lost in answer.lost:
            holder.lose(lost.key)
        for order in answer.cancels:
            holder.cancel(order)
        holder.waiting(answer.waiting)
        await self._until_next_beat(session)

    async def _until_next_beat(self, session: Session) -> None:
        self._beat_now.clear()
        try:
            async with asyncio.timeout(session.heartbeat_s):
                await self._beat_now.wait()
        except TimeoutError:
            return

    async def _watch(self, session: Session, holder: Holder) -> NoReturn:
        while True:
            session.renewed.clear()
            remaining_s = session.lease.remaining_s()
            if remaining_s > 0:
                await asyncio.sleep(min(remaining_s, WATCH_EVERY_S))
                continue
            _log.warning("the lease ran out by the own clock", extra={"session": session.session_id})
            holder.lose_all(discard=False)
            self._beat_now.set()
            await session.renewed.wait()


def _heed(holder: Holder, answer: messages.Claimed | messages.Reported) -> None:
    for order in answer.cancels:
        holder.cancel(order)
    for run_id in answer.answered:
        holder.answered(run_id, is_waiting=run_id in answer.waiting)


def _heed_refusal(holder: Holder, key: Key, result: Result) -> None:
    _log.info("report refused", extra={"run": key.run_id, "fence": key.fence, "code": result.code})
    if result.code in LOST_CODES:
        holder.lose(key)
    elif result.code == "cancel_requested":
        holder.cancel(Cancel(run_id=key.run_id, fence=key.fence))
