"""How many attempts this worker may hold, and the one invariant: running + reserved ≤ total.

A request that asks for claims reserves the slots it offers until its answer came, so two requests that are open at the
same time (a claim and a batch of reports) never offer the same slot twice. Whoever ends an attempt vacates its slot once
nothing of it is left alive, before the settle is answered: the settle's own request may carry the next claim.
"""

import asyncio


class Slots:
    """The count of slots; not thread-safe, everything happens on the worker's loop."""

    def __init__(self, total: int) -> None:
        """`total` is at least 1."""
        if total < 1:
            raise ValueError("a worker needs at least one slot")
        self.total = total
        self.running = 0
        self.reserved = 0
        self.closed = asyncio.Event()
        self._spare = asyncio.Event()
        self._spare.set()

    @property
    def spare(self) -> int:
        """Slots that may be offered now; none any more once closed."""
        return 0 if self.closed.is_set() else max(0, self.total - self.running - self.reserved)

    async def until_spare(self) -> None:
        """Wait until there is a slot to offer."""
        await self._spare.wait()

    def reserve(self) -> int:
        """Reserve all that is spare for one request; returns how many, to be given back by `redeem`."""
        count = self.spare
        self.reserved += count
        self._note()
        return count

    def redeem(self, reserved: int, claimed: int) -> int:
        """The request that reserved them was answered (or failed: `claimed` 0); returns how many claims may be taken."""
        taken = 0 if self.closed.is_set() else min(reserved, claimed)
        self.reserved -= reserved
        self.running += taken
        self._note()
        return taken

    def vacate(self) -> None:
        """An attempt ended; its slot is spare again."""
        if self.running < 1:
            raise RuntimeError("more slots were vacated than were taken")
        self.running -= 1
        self._note()

    def close(self) -> None:
        """Offer nothing from now on."""
        self.closed.set()
        self._note()

    def _note(self) -> None:
        if self.spare:
            self._spare.set()
        else:
            self._spare.clear()
