"""Following a job: looks at its status in its own time, takes its callback, fetches its result, and says how it ended.

What the other side can't be asked for a while is no news about the job: only after the profile's patience the attempt fails, and
another attempt goes on with the same job. The job itself is over when it says so, and only then another one may be started.
"""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ringback.domain.http_following import Verdict, judge, progress_of, result_of
from ringback.domain.http_request import link_of
from ringback.domain.http_template import MISSING, HttpTemplateError, at
from ringback.worker.assignment import Outcome
from ringback.worker.reporting import CallbackRefusedError
from ringback.worker.runtimes.http_client import ExchangeError, WebAnswer, document_of
from ringback.worker.runtimes.http_pace import Pace, retry_after_s
from ringback.worker.runtimes.http_start import finished, places
from ringback.worker.runtimes.http_work import Job, Work

LOOK_EVERY_S: Final = 30.0
GONE_LOOKS: Final = 3
FETCH_TRIES: Final = 5
_GONE: Final = frozenset({404, 410})
_CLOSED: Final = frozenset({400, 401, 403, 405, 406, 407, 451})
_BUSY: Final = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a job. `fault` says why it showed nothing; `is_final` that it is useless to look again."""

    verdict: Verdict | None = None
    answer: WebAnswer | None = None
    fault: str = ""
    is_final: bool = False
    is_gone: bool = False

    @property
    def is_over(self) -> bool:
        """The job has ended."""
        return self.verdict is not None and self.verdict.word in ("done", "failed", "cancelled")


class Follower:
    """Sees one job through."""

    def __init__(self, work: Work, job: Job) -> None:
        self.work = work
        self.job = job
        self.pace = Pace(work.follow.interval_s, work.follow.interval_max_s)
        self._loop = asyncio.get_running_loop()
        self._knew_state = False
        self._shown: tuple[Any, ...] = ()
        self._changed_at = self._loop.time()
        self._faulty_since: float | None = None
        self._gone_count = 0

    async def see_through(self, first: WebAnswer | None) -> Outcome | None:
        """The outcome, or None when there is a stop to be heeded first. `first` is the answer to the start."""
        wait_s = 0.0
        if first is not None:
            look = self._understood(first)
            if look.is_over and look.verdict is not None and look.verdict.state is not None:
                return await self.ended(look)
            wait_s = self.pace.wait_s(retry_after_s(first.headers.get("retry-after")))
        while not await self._rest(wait_s):
            called = await self.called()
            if isinstance(called, Outcome):
                return called
            if called is not None:
                return await self.ended(called)
            if self.job.status_url is None:
                wait_s = LOOK_EVERY_S
                continue
            look = await self.look()
            if look.is_over:
                return await self.ended(look)
            failed = self._given_up(look)
            if failed is not None:
                return failed
            wait_s = self.wait_after(look)
        return None

    async def _rest(self, seconds: float) -> bool:
        """Wait; whether there is a stop. The idle limit counts from the last change of what the job shows."""
        idle_ms = self.work.assignment.idle_timeout_ms
        until = self._loop.time() + seconds
        idle_at = float("inf") if idle_ms is None else self._changed_at + idle_ms / 1000
        stopped = await self.work.rest(
            max(0.0, min(until, idle_at) - self._loop.time()), hears_news=self.job.has_callback
        )
        if not stopped and self._loop.time() >= idle_at:
            self.work.stop.request("timeout:idle")
            return True
        return stopped

    def wait_after(self, look: Look) -> float:
        """How long to wait after a look."""
        asked = None if look.answer is None else look.answer.headers.get("retry-after")
        return self.pace.wait_s(retry_after_s(asked))

    # --- looking

    async def look(self) -> Look:
        """Ask for the job's status, and pass on what is new."""
        assert self.job.status_url is not None
        try:
            answer = await self.work.get(self.job.status_url, self.job.start_no, keeps_see_other=True)
        except ExchangeError as error:
            return Look(fault=str(error), is_final=error.is_forbidden)
        look = self._understood(answer)
        if look.verdict is not None and not look.fault:
            await self._pass_on(look)
        return look

    def _understood(self, answer: WebAnswer) -> Look:
        if answer.status == 303 and "location" in answer.headers:
            return Look(Verdict("done"), answer)
        if answer.status in _GONE:
            return Look(answer=answer, fault=f"its status is gone ({answer.status})", is_gone=True)
        if not answer.is_success:
            is_closed = answer.status in _CLOSED
            return Look(answer=answer, fault=f"its status was answered {answer.status}", is_final=is_closed)
        verdict = judge(self.work.follow, answer.status, answer.document, knew_state=self._knew_state)
        if verdict.word == "unclear":
            word = "no state" if verdict.state is None else f"the unknown state {verdict.state!r}"
            return Look(answer=answer, fault=f"its status says {word}")
        self._knew_state = self._knew_state or verdict.state is not None
        return Look(verdict, answer)

    async def _pass_on(self, look: Look) -> None:
        assert look.answer is not None
        assert look.verdict is not None
        done, total, message = progress_of(self.work.follow, look.answer.document)
        shown = (look.verdict.state, done, total, message)
        if shown == self._shown:
            return
        if not self._shown or self._shown[0] != look.verdict.state:
            await self.work.say(f"the job is {look.verdict.state or look.verdict.word}")
        self._shown, self._changed_at = shown, self._loop.time()
        self.pace.reset()
        text = message or look.verdict.state
        await self.work.reporter.progress(done, total, text and self.work.mask.text(text))

    def _given_up(self, look: Look) -> Outcome | None:
        """The outcome when looking has been useless for too long."""
        if not look.fault:
            self._faulty_since, self._gone_count = None, 0
            return None
        now = self._loop.time()
        if self._faulty_since is None:
            self._faulty_since = now
        self._gone_count = self._gone_count + 1 if look.is_gone else 0
        is_late = now - self._faulty_since >= self.work.follow.patience_s
        if look.is_final or is_late or self._gone_count >= GONE_LOOKS:
            message = f"the job can't be followed any more: {look.fault}; what became of it is unknown"
            return self.work.failed(message, look.answer, is_retryable=not look.is_final)
        return None

    # --- the callback

    async def called(self) -> Look | Outcome | None:
        """The end that came in at the callback address; None when there is nothing, or no more than a sign to look."""
        if not self.job.has_callback:
            return None
        callback = self.work.http.get("callback")
        secret = callback.get("secret") if isinstance(callback, Mapping) else None
        try:
            address, delivery = await self.work.reporter.callback(self.job.start_no, secret)
        except CallbackRefusedError as error:
            return self.work.failed(f"no callback address: {error}")
        self.work.hide(address.rpartition("/")[2])
        if delivery is None:
            return None
        answer = _answer_of(delivery, self.job.url)
        verdict = judge(self.work.follow, 200, answer.document)
        if self.job.status_url is not None and (
            verdict.state is None or verdict.word not in ("done", "failed", "cancelled")
        ):
            return None
        await self.work.say("called back")
        if verdict.word in ("active", "unclear"):
            message = f"the callback says {verdict.state!r}, which is no end, and there is nothing else to follow"
            return self.work.failed(message, answer, is_retryable=False)
        return Look(verdict, answer)

    # --- the end

    async def ended(self, look: Look) -> Outcome:
        """The outcome of a job that is over."""
        assert look.verdict is not None
        assert look.answer is not None
        word, state = look.verdict.word, look.verdict.state
        if word == "done":
            return await self._result(look.answer)
        await self.work.reporter.checkpoint({"phase": "over", "start": self.job.start_no})
        if word == "cancelled":
            return self.work.failed("the job was cancelled on the other side", look.answer)
        return self.work.failed(f"the job ended as {state}", look.answer)

    async def _result(self, answer: WebAnswer) -> Outcome:
        try:
            link = self._result_link(answer)
            url = None if link is None else self.work.reach.resolved(link, answer.url)
        except (ExchangeError, HttpTemplateError) as error:
            return self.work.failed(f"the job is done, its result can't be fetched: {error}", is_retryable=False)
        if url is None:
            if answer.document is MISSING:
                return await finished(self.work, answer)
            return await self.work.succeeded(result_of(self.work.follow, answer.document))
        return await self._fetched(url)

    def _result_link(self, answer: WebAnswer) -> str | None:
        follow = self.work.follow
        if answer.status == 303:
            return answer.headers["location"]
        if follow.result_url is not None:
            values = places(self.work, answer, self.job.url, self.job.status_url, self.job.start_no)
            return link_of(follow.result_url, values, "/http/follow/resultUrl")
        found = (at(pointer, answer.document) for pointer in follow.result_location)
        return next((each for each in found if isinstance(each, str) and each), None)

    async def _fetched(self, url: str) -> Outcome:
        """The result behind a link; a server that is busy is asked again a few times."""
        pace = Pace(self.work.follow.interval_s, self.work.follow.interval_max_s)
        message, answer = "", None
        for _ in range(FETCH_TRIES):
            try:
                answer = await self.work.get(url, self.job.start_no)
            except ExchangeError as error:
                if error.is_forbidden:
                    return self.work.failed(
                        f"the job is done, its result can't be fetched: {error}", is_retryable=False
                    )
                message, answer = str(error), None
            else:
                if answer.is_success:
                    if answer.document is MISSING:
                        return await finished(self.work, answer)
                    return await self.work.succeeded(result_of(self.work.follow, answer.document))
                message = f"answered {answer.status}"
                if answer.status < 500 and answer.status not in _BUSY:
                    break
            asked = None if answer is None else answer.headers.get("retry-after")
            if await self.work.rest(pace.wait_s(retry_after_s(asked))):
                break
        return self.work.failed(f"the job is done, its result can't be fetched: {message}", answer)


def _answer_of(delivery: Mapping[str, Any], url: str) -> WebAnswer:
    body = base64.b64decode(delivery["base64"]) if "base64" in delivery else str(delivery.get("text", "")).encode()
    headers = {"content-type": str(delivery.get("contentType", ""))}
    return WebAnswer(status=200, url=url, headers=headers, body=body, document=document_of(body))
