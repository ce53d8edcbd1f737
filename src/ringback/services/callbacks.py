"""One-time addresses at which a job API tells a waiting run how its job ended.

A token has 256 bits and is kept as a keyed hash. It is made from a random salt and the installation's key, so that a later
attempt which goes on with the same job sends the same address, while the ledger alone opens nothing. An address belongs to one
job of one run, takes one delivery, and is worth nothing once the run has ended or has started another job. A wrong token, a
closed address, an ended run and a run that does not exist are told from each other by nobody.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ringback.domain.errors import (
    CallbackUsedError,
    Flaw,
    InvalidInputError,
    InvalidSignatureError,
    NotFoundError,
    StaleFenceError,
)
from ringback.domain.ids import RunId, job_id_of, run_id_of
from ringback.domain.moments import SECOND
from ringback.domain.runs import Run
from ringback.engine.bells import Bells
from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Desk, Row, Store

BODY_MAX: Final = 1 << 20
TOLERANCE_S: Final = 300
_PURPOSE: Final = b"callback"
_TOKEN_MAX: Final = 200
_STARTS_MAX: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """An address as its attempt sees it: the path below the server's, and the delivery once there is one.

    Attributes:
        url: the whole address, if the server knows by which address others reach it.
    """

    path: str
    url: str | None
    delivery: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What came in, with the headers that Standard Webhooks signs by."""

    body: bytes
    content_type: str | None = None
    webhook_id: str | None = None
    timestamp: str | None = None
    signature: str | None = None


@dataclass(slots=True, kw_only=True)
class Callbacks:
    """Opens addresses for attempts and takes what comes in at them."""

    store: Store
    clock: Clock
    ids: Ids
    bells: Bells
    pepper: bytes
    secret_of: Callable[[str], str | None]
    public_url: str = ""

    async def open(self, run_id: RunId, fence: int, start_no: int, secret: str | None) -> Callback:
        """The address of a run's job number `start_no`, opened when it is asked for first; those of earlier jobs are closed.

        Raises:
            StaleFenceError: the attempt no longer holds the run.
            InvalidInputError: this server has no secret of that name.
        """
        if not 1 <= start_no <= _STARTS_MAX:
            raise InvalidInputError(Flaw("/callback/start", f"must lie between 1 and {_STARTS_MAX}"))
        if secret is not None and self.secret_of(secret) is None:
            raise InvalidInputError(Flaw("/callback/secret", f"this server has no variable {secret}"))
        run = await self.store.reads.run(run_id)
        attempt = None if run is None else run.attempt
        if run is None or attempt is None or run.fence != fence:
            raise StaleFenceError(run_id, fence, 0 if run is None else run.fence)
        where = {"run_id": run_id, "start_no": start_no}
        row = await self._row(where)
        if row is None or row["attempt_id"] != attempt.attempt_id:
            salt = secrets.token_hex(32)
            digest = self._digest(self._token(run_id, start_no, salt))
            values = {**where, "digest": digest, "salt": salt, "attempt_id": attempt.attempt_id, "secret": secret}

            def work(desk: Desk) -> None:
                if desk.run(run_id).fence != fence:
                    raise StaleFenceError(run_id, fence, desk.run(run_id).fence)
                desk.write("close_callbacks", {**where, "now": desk.now})
                desk.write("insert_callback", {**values, "opened_at": desk.now})
                desk.write("adopt_callback", {**where, "attempt_id": attempt.attempt_id})

            await self.store.commit(work, runs=(run_id,))
            row = await self._row(where)
        assert row is not None
        path = f"/callbacks/{job_id_of(run_id)}/{self._token(run_id, start_no, row['salt'])}"
        url = self.public_url.rstrip("/") + path if self.public_url else None
        return Callback(path=path, url=url, delivery=None if row["delivery"] is None else json.loads(row["delivery"]))

    async def take(self, name: str, token: str, delivery: Delivery) -> None:
        """Keep the one delivery of an address, and wake the attempt that waits. The same one again changes nothing.

        Raises:
            NotFoundError: the token opens nothing (any more), for whatever reason.
            InvalidSignatureError: the address takes signed deliveries only; it stays open.
            CallbackUsedError: another delivery came first.
        """
        run_id = run_id_of(name)
        digest = self._digest(token[:_TOKEN_MAX])
        rows = await self.store.reads.rows("callback_by_digest", {"digest": digest})
        run = await self.store.reads.run(run_id) if rows and run_id is not None else None
        if not rows or run is None or not _is_open(rows[0], run):
            raise NotFoundError("callback", "")
        if rows[0]["secret"] is not None:
            self._verify(rows[0]["secret"], delivery)
        await self._keep(digest, run, delivery)

    async def _keep(self, digest: str, run: Run, delivery: Delivery) -> None:
        mark = self.ids.new()
        told = _told(delivery)

        def work(desk: Desk) -> None:
            if desk.run(run.run_id).is_terminal:
                raise NotFoundError("callback", "")
            values = {"digest": digest, "delivery": json.dumps(told), "delivery_id": mark}
            desk.write("deliver_callback", {**values, "now": desk.now})

        await self.store.commit(work, runs=(run.run_id,))
        row = (await self.store.reads.rows("callback_by_digest", {"digest": digest}))[0]
        if row["delivery"] is None:
            raise NotFoundError("callback", "")
        if row["delivery_id"] != mark and json.loads(row["delivery"])["digest"] != told["digest"]:
            raise CallbackUsedError
        self.bells.answered(await self.store.reads.run(run.run_id) or run)

    def _verify(self, secret: str, delivery: Delivery) -> None:
        value = self.secret_of(secret)
        if value is None or not is_signed(delivery, value, now_s=self.clock.now() // SECOND):
            raise InvalidSignatureError

    async def _row(self, where: Mapping[str, Any]) -> Row | None:
        rows = await self.store.reads.rows("callback_of_run", where)
        return rows[0] if rows else None

    def _token(self, run_id: RunId, start_no: int, salt: str) -> str:
        seed = json.dumps([run_id, start_no, salt]).encode()
        made = hashlib.blake2b(seed, key=self.pepper[:64], digest_size=32, person=b"callback token").digest()
        return base64.urlsafe_b64encode(made).rstrip(b"=").decode()

    def _digest(self, token: str) -> str:
        text = token.encode(errors="replace")
        return hashlib.blake2b(text, key=self.pepper[:64], digest_size=32, person=_PURPOSE).hexdigest()


def is_signed(delivery: Delivery, secret: str, *, now_s: int) -> bool:
    """Whether a delivery bears a signature of Standard Webhooks (v1, HMAC-SHA256) and is not older than five minutes.

    Args:
        secret: `whsec_` and base64, or the bare key in base64.
    """
    try:
        sent_s = int(delivery.timestamp or "")
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        return False
    if not delivery.webhook_id or abs(now_s - sent_s) > TOLERANCE_S or not key:
        return False
    signed = f"{delivery.webhook_id}.{sent_s}.".encode("latin-1", "replace") + delivery.body
    wanted = base64.b64encode(hmac.digest(key, signed, "sha256"))
    given = [each.removeprefix("v1,").encode() for each in (delivery.signature or "").split() if each.startswith("v1,")]
    return any(hmac.compare_digest(each, wanted) for each in given)


def _is_open(row: Row, run: Run) -> bool:
    return row["run_id"] == run.run_id and row["closed_at"] is None and not run.is_terminal


def _told(delivery: Delivery) -> dict[str, Any]:
    """The delivery as JSON: text where it is text, base64 where it is not."""
    told: dict[str, Any] = {"digest": hashlib.sha256(delivery.body).hexdigest()}
    if delivery.content_type is not None:
        told["contentType"] = delivery.content_type[:200]
    text = delivery.body.decode(errors="replace")
    if text.encode() == delivery.body and "\0" not in text:
        return {**told, "text": text}
    return {**told, "base64": base64.b64encode(delivery.body).decode()}
