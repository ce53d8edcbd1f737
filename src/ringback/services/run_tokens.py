"""The token of an attempt: what the programs of a run may show to ask people something, and nothing else.

It is made of the run, the fence of the attempt and a keyed hash of both (256 bits), so no row is written for it: it dies when the
attempt does, because it names a fence that holds the run no longer. The key lies in the data folder beside the ledger; a stolen
copy of the ledger alone opens nothing (decision 0019).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

from ringback.domain.errors import UnauthenticatedError
from ringback.domain.ids import RunId, run_id_of
from ringback.domain.runs import Run
from ringback.ports.clock import Clock
from ringback.ports.store import Store
from ringback.services.limits import RateLimits

PREFIX = "rbr_"
_PURPOSE = b"run-token"
_TOKEN_MAX = 200


@dataclass(slots=True, kw_only=True)
class RunTokens:
    """Makes and recognises them."""

    store: Store
    clock: Clock
    pepper: bytes
    limits: RateLimits

    def of(self, run_id: RunId, fence: int) -> str:
        """The token of the attempt that holds `fence`; the same whenever it is asked for."""
        head = f"{run_id}.{fence}"
        digest = hashlib.blake2b(head.encode(), key=self.pepper[:64], digest_size=32, person=_PURPOSE).digest()
        return f"{PREFIX}{head}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"

    async def attempt(self, token: str) -> Run:
        """The run whose attempt a token belongs to, while that attempt holds it.

        Raises:
            UnauthenticatedError: it is malformed or forged, or the attempt is over.
            RateLimitedError: it asks too often.
        """
        run_id, fence = self._read(token)
        run = await self.store.reads.run(run_id)
        if run is None or run.fence != fence or not run.is_held:
            raise UnauthenticatedError
        self.limits.take(f"run:{run_id}", self.clock.now())
        return run

    def _read(self, token: str) -> tuple[RunId, int]:
        name, _, rest = token.removeprefix(PREFIX).partition(".")
        fence, _, _ = rest.partition(".")
        run_id = run_id_of(name)
        if len(token) > _TOKEN_MAX or run_id is None or not (fence.isascii() and fence.isdigit()):
            raise UnauthenticatedError
        if not hmac.compare_digest(self.of(run_id, int(fence)).encode(), token.encode(errors="replace")):
            raise UnauthenticatedError
        return run_id, int(fence)
