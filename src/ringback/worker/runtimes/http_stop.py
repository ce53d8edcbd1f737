"""Stopping a job of the other side, and saying no more about that than is known.

A stop is *delivered* when the other side took the request, *acknowledged* only when it says that the job is cancelled: by its
status, or by having removed the job. What is not acknowledged within the grace ends as unconfirmed: the job may still run. A job
that was done before it could be stopped has its result.
"""

import asyncio
from typing import Final

from ringback.domain.http_following import judge
from ringback.domain.http_request import HttpRequest
from ringback.domain.http_template import fill_headers
from ringback.worker.assignment import Outcome
from ringback.worker.runtimes.http_client import ExchangeError, WebAnswer
from ringback.worker.runtimes.http_follow import Follower, Look
from ringback.worker.runtimes.http_pace import Pace, retry_after_s

_INTERVAL_MAX_S: Final = 5.0
_GONE: Final = frozenset({404, 410})
_LATER: Final = frozenset({408, 425, 429})


class Stopper:
    """Stops the job of one follower within a grace."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._work, self._job = follower.work, follower.job
        self._loop = asyncio.get_running_loop()
        self._pace = Pace(min(1.0, self._work.follow.interval_s), _INTERVAL_MAX_S)
        self._is_taken = False
        self._is_refused = ""
        self._word = "the stop was not answered"

    async def stop(self) -> Outcome:
        """Ask the other side to stop; the outcome of the attempt."""
        stop = self._work.stop
        if stop.why in ("drain", "lost"):
            return Outcome(kind="released")
        grace_ms = self._work.assignment.grace_ms if stop.grace_ms is None else stop.grace_ms
        try:
            async with asyncio.timeout(grace_ms / 1000):
                return await self._stopped()
        except TimeoutError:
            return self._unconfirmed()

    async def _stopped(self) -> Outcome:
        if self._job.cancel_url is None:
            self._is_refused = self._word = "the other side has no way to stop it"
        while True:
            wait_s = None
            if not self._is_taken and not self._is_refused:
                wait_s, outcome = await self._ask()
                if outcome is not None:
                    return outcome
            if self._job.status_url is not None:
                look = await self._follower.look()
                if look.is_over:
                    return await self._ended(look)
                if look.is_gone and self._is_taken:
                    return await self._acknowledged()
                wait_s = wait_s or retry_after_s(
                    None if look.answer is None else look.answer.headers.get("retry-after")
                )
            called = await self._follower.called()
            if isinstance(called, Outcome):
                return called
            if called is not None:
                return await self._ended(called)
            await asyncio.sleep(self._pace.wait_s(wait_s))

    async def _ask(self) -> tuple[float | None, Outcome | None]:
        """Send the stop once; how long to wait, and the outcome if the answer settles it."""
        assert self._job.cancel_url is not None
        work = self._work
        headers = fill_headers(work.http.get("headers") or {}, work.values(self._job.start_no))
        request = HttpRequest(method=work.follow.cancel_method, url=self._job.cancel_url, headers=headers)
        try:
            answer = await work.fetcher.ask(request, work.reach, keeps_see_other=True)
        except ExchangeError as error:
            self._word = f"the stop failed: {error}"
            if error.is_forbidden:
                self._is_refused = self._word
            return None, None
        await work.say(f"{work.follow.cancel_method} to stop it was answered {answer.status}")
        self._word = f"the stop was answered {answer.status}"
        if answer.is_success:
            return await self._taken(answer)
        if answer.status >= 500 or answer.status in _LATER:
            return retry_after_s(answer.headers.get("retry-after")), None
        if answer.status == 409:  # not now, or over already: its status says which
            return retry_after_s(answer.headers.get("retry-after")), None
        self._is_refused = self._word
        return None, None

    async def _taken(self, answer: WebAnswer) -> tuple[float | None, Outcome | None]:
        self._is_taken = True
        if self._work.stop.why == "cancel":
            await self._work.reporter.cancel_delivered()
        verdict = judge(self._work.follow, answer.status, answer.document)
        if verdict.state is not None and verdict.word == "cancelled":
            return None, await self._acknowledged()
        if self._job.status_url is None and answer.status in (200, 204) and verdict.state is None:
            return None, await self._acknowledged()  # there is nothing else that could say more
        return retry_after_s(answer.headers.get("retry-after")), None

    async def _ended(self, look: Look) -> Outcome:
        assert look.verdict is not None
        if look.verdict.word == "cancelled":
            return await self._acknowledged()
        return await self._follower.ended(look)

    async def _acknowledged(self) -> Outcome:
        await self._work.reporter.checkpoint({"phase": "over", "start": self._job.start_no})
        stop = self._work.stop
        if stop.limit is not None:
            message = "the limit of time was hit; the job was cancelled on the other side"
            return Outcome(
                kind="timed_out", limit=stop.limit, forced=False, error_kind="tool_error", error_message=message
            )
        await self._work.reporter.cancel_acknowledged()
        return Outcome(kind="stopped", forced=False)

    def _unconfirmed(self) -> Outcome:
        """Let go of the job: a run that was to be cancelled ends as `cancel_unconfirmed` when its attempt is given back."""
        text = self._work.mask.text(f"{self._word}, and the job may still run")
        stop = self._work.stop
        if stop.limit is not None:
            message = f"the limit of time was hit; {text}"
            return Outcome(
                kind="timed_out", limit=stop.limit, forced=True, error_kind="tool_error", error_message=message
            )
        return Outcome(kind="released", error_kind="tool_error", error_message=text)
