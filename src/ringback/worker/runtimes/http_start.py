"""The start of a job: the request is sent once, and what the answer means is decided.

Before the request is sent the attempt notes that it is about to; when its worker dies then, the next attempt sends it again
only if that is known to do no harm (an idempotent method or tool), and otherwise says that the outcome is unknown. Waiting as
`429` and `503` ask, with `Retry-After`, is part of sending; every other repetition belongs to the ledger (decision 0004).
"""

import asyncio
from typing import Final

from ringback.domain.http_following import judge
from ringback.domain.http_request import HttpRequest, build, link_of
from ringback.domain.http_template import MISSING, HttpTemplateError, Values, at, origin_of
from ringback.worker.assignment import Outcome
from ringback.worker.reporting import CallbackRefusedError
from ringback.worker.runtimes.http_client import ExchangeError, WebAnswer
from ringback.worker.runtimes.http_pace import Pace, retry_after_s
from ringback.worker.runtimes.http_work import IDEMPOTENCY_HEADER, Job, Work, told

_RETRYABLE: Final = frozenset({408, 425, 429})
_UNKNOWN: Final = "whether the work has begun is unknown, and the tool is not marked as safe to repeat"


async def start(work: Work, start_no: int, *, was_sent: bool) -> tuple[Job, WebAnswer] | Outcome:
    """Send the request; the job that it started with the answer, or the outcome when there is no job to follow.

    Args:
        was_sent: an attempt before this one may have sent the request.
    """
    if was_sent and not work.is_repeatable:
        return work.failed(f"the worker was lost while it sent the request: {_UNKNOWN}", is_retryable=False)
    try:
        callback_url = await _callback_url(work, start_no)
    except CallbackRefusedError as error:
        return work.failed(f"no callback address: {error}", is_retryable=False)
    request = _request(work, start_no, callback_url)
    if not work.is_repeatable:
        await work.reporter.checkpoint({"phase": "sending", "start": start_no})
    answer = await _send(work, request, start_no)
    if isinstance(answer, Outcome):
        return answer
    if not answer.is_success:
        return await _refused(work, answer, start_no)
    return await _accepted(work, answer, request, start_no, has_callback=callback_url is not None)


async def _callback_url(work: Work, start_no: int) -> str | None:
    callback = work.http.get("callback")
    if not callback:
        return None
    told = callback if isinstance(callback, dict) else {}
    address, _ = await work.reporter.callback(start_no, told.get("secret"))
    work.hide(address.rpartition("/")[2])
    return work.server_url + address if address.startswith("/") else address


def _request(work: Work, start_no: int, callback_url: str | None) -> HttpRequest:
    request = build(work.http, work.values(start_no, callback_url))
    header = work.http.get("idempotencyHeader", IDEMPOTENCY_HEADER)
    if header and request.method != "GET":
        headers = {**request.headers, header: work.key_of(start_no)}
        return HttpRequest(
            method=request.method,
            url=request.url,
            headers=headers,
            body=request.body,
            content_type=request.content_type,
        )
    return request


async def _send(work: Work, request: HttpRequest, start_no: int) -> WebAnswer | Outcome:
    pace, loop = Pace(work.follow.interval_s, work.follow.interval_max_s), asyncio.get_running_loop()
    give_up = loop.time() + work.follow.patience_s
    while True:
        try:
            answer = await work.fetcher.ask(request, work.reach)
        except ExchangeError as error:
            return await _unanswered(work, error, start_no)
        asked_s = retry_after_s(answer.headers.get("retry-after"))
        if answer.status != 429 and not (answer.status == 503 and asked_s is not None):
            return answer
        wait_s = pace.wait_s(asked_s)
        if loop.time() + wait_s > give_up:
            return answer
        await work.say(f"{answer.status}: asked to come back in {wait_s:.1f} s")
        if await work.rest(wait_s):
            await _unmark(work, start_no)
            return before_start(work)


def before_start(work: Work) -> Outcome:
    """The outcome of an attempt that was stopped while nothing had begun."""
    if work.stop.limit is not None:
        return Outcome(kind="timed_out", limit=work.stop.limit, forced=False)
    return Outcome(kind="released" if work.stop.why == "drain" else "stopped", forced=False)


async def _unmark(work: Work, start_no: int) -> None:
    """The request surely did not begin anything: another attempt may send it."""
    if not work.is_repeatable:
        await work.reporter.checkpoint({"phase": "new", "start": start_no})


async def _unanswered(work: Work, error: ExchangeError, start_no: int) -> Outcome:
    message = told(error, f"{work.http.get('method', 'POST')} failed")
    if not error.was_sent:
        await _unmark(work, start_no)
        return work.failed(message)
    if work.is_repeatable:
        return work.failed(message, is_retryable=not error.is_forbidden)
    return work.failed(f"{message}; {_UNKNOWN}", is_retryable=False)


async def _refused(work: Work, answer: WebAnswer, start_no: int) -> Outcome:
    message = f"the request was answered {answer.status}"
    if answer.status >= 500 and not work.is_repeatable and answer.status != 503:
        return work.failed(f"{message}; {_UNKNOWN}", answer, is_retryable=False)
    await _unmark(work, start_no)
    return work.failed(message, answer, is_retryable=answer.status >= 500 or answer.status in _RETRYABLE)


async def _accepted(
    work: Work, answer: WebAnswer, request: HttpRequest, start_no: int, *, has_callback: bool
) -> tuple[Job, WebAnswer] | Outcome:
    """A job that runs, or the result at once."""
    if answer.status not in work.follow.on:
        return await finished(work, answer)
    url = request.url.partition("?")[0]
    try:
        status_url = _status_url(work, answer, url, start_no)
    except (ExchangeError, HttpTemplateError) as error:
        message = f"the job was accepted and can't be followed: {error}"
        return work.failed(message, answer, is_retryable=False)
    if status_url is None and not has_callback:
        verdict = judge(work.follow, answer.status, answer.document)
        if verdict.word == "active":
            message = f"answered {answer.status} without saying where the job's status is"
            return work.failed(message, answer, is_retryable=False)
        if verdict.word != "done":
            return work.failed(f"the job ended as {verdict.state}", answer)
        return await finished(work, answer)
    job = Job(
        start_no=start_no,
        url=url,
        status_url=status_url,
        cancel_url=_cancel_url(work, answer, url, status_url, start_no),
        has_callback=has_callback,
    )
    await work.reporter.checkpoint(job.kept())
    await work.say(
        f"{answer.status} accepted; " + (f"following {status_url}" if status_url else "waiting to be called")
    )
    return job, answer


def _status_url(work: Work, answer: WebAnswer, url: str, start_no: int) -> str | None:
    follow = work.follow
    if follow.status_url is not None:
        link: str | None = link_of(
            follow.status_url, places(work, answer, url, None, start_no), "/http/follow/statusUrl"
        )
    else:
        found = (at(pointer, answer.document) for pointer in follow.location)
        link = next((each for each in found if isinstance(each, str) and each), None)
        link = link or next(
            (answer.headers[name.lower()] for name in follow.headers if name.lower() in answer.headers), None
        )
    return None if link is None else work.reach.resolved(link, answer.url)


def _cancel_url(work: Work, answer: WebAnswer, url: str, status_url: str | None, start_no: int) -> str | None:
    """Where a stop is asked for, None where that can't be said."""
    if work.follow.cancel_method == "none":
        return None
    try:
        values = places(work, answer, url, status_url, start_no)
        link = link_of(work.follow.cancel_url, values, "/http/follow/cancelUrl")
        return work.reach.resolved(link, answer.url)
    except (ExchangeError, HttpTemplateError):
        return None


def places(work: Work, answer: WebAnswer, url: str, status_url: str | None, start_no: int) -> Values:
    """What links are filled with: the inputs, the answer, and where the job is."""
    named = {"url": url.rstrip("/"), "origin": origin_of(url) or ""}
    if status_url is not None:
        named["status"] = status_url.partition("?")[0]
    values = work.values(start_no)
    return Values(inputs=values.inputs, answer=answer.document, places=named)


async def finished(work: Work, answer: WebAnswer) -> Outcome:
    """The outcome with what an answer brought: JSON, or text."""
    if answer.document is not MISSING:
        return await work.succeeded(answer.document)
    if not answer.body.strip():
        return await work.succeeded(None)
    text = answer.text
    if text is None:
        kind = answer.headers.get("content-type", "no type")
        return work.failed(f"the result is neither JSON nor text ({kind})", is_retryable=False)
    return await work.succeeded(text)
