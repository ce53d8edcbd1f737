"""What the parts of an http attempt share: the profile as it was read, the reporter, the stop, and what is kept of the job."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from ringback.domain.http_following import Follow, text_of
from ringback.domain.http_request import IDEMPOTENT, HttpRequest, inputs_of, other_origins, own_origins
from ringback.domain.http_template import MISSING, Values, fill_headers
from ringback.worker.assignment import Assignment, ErrorKind, Outcome, Reporter, Stop
from ringback.worker.masking import Mask
from ringback.worker.runtimes.http_client import ExchangeError, Fetcher, Reach, WebAnswer

TIMEOUT_S: Final = 30.0
ANSWER_BYTES: Final = 4 * 1024 * 1024
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
EXCERPT_MAX: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of the other side. `url` is where it was started, without the query."""

    start_no: int
    url: str
    status_url: str | None = None
    cancel_url: str | None = None
    has_callback: bool = False

    def kept(self) -> dict[str, Any]:
        """What the next attempt needs to go on with it."""
        told = {"phase": "following", "start": self.start_no, "url": self.url, "callback": self.has_callback}
        links = {"statusUrl": self.status_url, "cancelUrl": self.cancel_url}
        return {**told, **{name: link for name, link in links.items() if link is not None}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What an earlier attempt left: `phase` is `new`, `sending`, `following` or `over`."""

    phase: str = "new"
    start_no: int = 1
    job: Job | None = None

    @classmethod
    def of(cls, checkpoint: Any) -> Self:
        """Read a checkpoint; what is none of ours is nothing."""
        if not isinstance(checkpoint, Mapping) or not isinstance(checkpoint.get("start"), int):
            return cls()
        phase, start_no = str(checkpoint.get("phase")), checkpoint["start"]
        if phase == "over":
            return cls(start_no=start_no + 1)
        if phase != "following":
            return cls(phase=phase, start_no=start_no)
        job = Job(
            start_no=start_no,
            url=str(checkpoint["url"]),
            status_url=checkpoint.get("statusUrl"),
            cancel_url=checkpoint.get("cancelUrl"),
            has_callback=bool(checkpoint.get("callback")),
        )
        return cls(phase=phase, start_no=start_no, job=job)


@dataclass(slots=True)
class Work:
    """One attempt, as all of its parts see it."""

    fetcher: Fetcher
    assignment: Assignment
    reporter: Reporter
    stop: Stop
    secrets: Mapping[str, str]
    mask: Mask
    server_url: str
    secret_values: list[str] = field(default_factory=list)
    http: Mapping[str, Any] = field(init=False)
    follow: Follow = field(init=False)
    reach: Reach = field(init=False)
    inputs: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.http = self.assignment.profile["http"]
        self.follow = Follow.of(self.http)
        self.inputs = inputs_of(self.assignment.profile, self.assignment.arguments)
        self.reach = Reach(
            own=own_origins(self.http),
            others=other_origins(self.http),
            within_s=float(self.http.get("timeoutS", TIMEOUT_S)),
            bytes_max=int(self.http.get("answerBytes", ANSWER_BYTES)),
        )

    @property
    def is_repeatable(self) -> bool:
        """Whether the request may be sent again when nobody knows what became of the first one."""
        return self.http.get("method", "POST") in IDEMPOTENT or bool(self.assignment.policy.get("idempotent"))

    def key_of(self, start_no: int) -> str:
        """The idempotency key of one job: the same for every attempt that starts it."""
        return self.assignment.run_id if start_no == 1 else f"{self.assignment.run_id}-{start_no}"

    def values(self, start_no: int, callback_url: str | None = None) -> Values:
        """What the templates of a job are filled with."""
        given = {"idempotency_key": self.key_of(start_no), "callback_url": callback_url}
        return Values(inputs={**self.inputs, **given}, secrets=self.secrets)

    def hide(self, secret: str) -> None:
        """Mask one more value in everything that is told."""
        self.secret_values.append(secret)
        self.mask = Mask([*self.secret_values])

    async def say(self, text: str) -> None:
        """A line of the run's output (stderr)."""
        await self.reporter.output("stderr", self.mask.data(f"{text}\n".encode(errors="replace")))

    async def get(self, url: str, start_no: int, *, keeps_see_other: bool = False) -> WebAnswer:
        """Fetch a link of the job.

        Raises:
            ExchangeError: as from `Fetcher.ask`.
        """
        headers = fill_headers(self.http.get("headers") or {}, self.values(start_no))
        url = self.reach.resolved(url, url)
        request = HttpRequest(method="GET", url=url, headers=headers)
        return await self.fetcher.ask(request, self.reach, keeps_see_other=keeps_see_other)

    async def rest(self, seconds: float, *, hears_news: bool = False) -> bool:
        """Wait so long, or until a stop or (if asked for) until a callback came in; whether there is a stop."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self.stop.requested.wait())]
        if hears_news:
            waits.append(asyncio.ensure_future(self.reporter.news()))
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
        return self.stop.why is not None

    async def succeeded(self, value: Any) -> Outcome:
        """The outcome with the job's result."""
        from ringback.worker.jsonable import preview

        shown = self.mask.value(value)
        return Outcome(kind="succeeded", result=shown, summary=preview(shown))

    def failed(
        self,
        message: str,
        answer: WebAnswer | None = None,
        *,
        is_retryable: bool = True,
        kind: ErrorKind = "tool_error",
    ) -> Outcome:
        """The outcome that says what went wrong, with what the other side said."""
        detail: dict[str, Any] | None = None
        if answer is not None:
            detail = {"status": answer.status}
            if answer.document is not MISSING and len(answer.body) <= EXCERPT_MAX * 8:
                detail["body"] = self.mask.value(answer.document)
            elif answer.body:
                detail["body"] = self.mask.text(answer.body[:EXCERPT_MAX].decode(errors="replace").replace("\0", "�"))
            told = text_of(self.follow.error, answer.document)
            message = f"{message}: {told}" if told else message
        text = self.mask.text(message)
        return Outcome(
            kind="failed",
            error_kind=kind,
            error_message=text,
            error_detail=detail,
            summary=text[:200],
            retryable=is_retryable,
        )


def told(error: ExchangeError, what: str) -> str:
    """An exchange that failed, in one line."""
    return f"{what}: {error}"
