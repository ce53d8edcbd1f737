"""Every error that the client raises on purpose, named by what the caller can do about it.

RingbackError
├── UnreachableError              no answer: start the server, or try again (retryable)
├── ProtocolError                 an answer that no Ringback gives: wrong address, or a proxy's page
├── StillRunningError             the wait is over and the job is not; ask again (also a TimeoutError)
└── RefusedError                  the server said no; `.code` says why
    ├── InvalidInputError         400 413 415 422: the request breaks a rule, `.errors` says which
    │   ├── ProjectRequiredError
    │   ├── IdempotencyKeyError
    │   └── IdempotencyConflictError   the key started another job with another payload
    ├── UnauthorizedError         401
    ├── ForbiddenError            403
    ├── NotFoundError             404: no such thing, or not yours
    ├── ConflictError             409
    │   ├── NotFinishedError      no result yet
    │   └── JobCancelledError     there is no result and there will be none
    └── UnavailableError          429 500 502 503 504: the fault is not in the request

The table of codes is the only place that maps a problem document (RFC 9457) to a class; a code that is not in it falls
back to its HTTP status, so that an older client understands a newer server.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class RingbackError(Exception):
    """Base of all errors a caller may want to catch. Facts are attributes; the message is for people."""

    code = "internal"
    retryable = False
    request_id: str | None = None


class UnreachableError(RingbackError):
    """The server gave no answer. Whatever was asked may or may not have happened, unless it is safe to repeat."""

    code = "unreachable"
    retryable = True

    def __init__(self, url: str | None, detail: str) -> None:
        super().__init__(url, detail)
        self.url, self.detail = url, detail

    def __str__(self) -> str:
        where = f"no Ringback server answers at {self.url}" if self.url else "no Ringback server is known"
        return f"{where}: {self.detail}"


class ProtocolError(RingbackError):
    """Whatever answered does not speak this protocol."""

    code = "protocol_error"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)


class StillRunningError(RingbackError, TimeoutError):
    """The job had not finished when the wait was over; it goes on regardless."""

    code = "still_running"
    retryable = True

    def __init__(self, job_id: str, status: str) -> None:
        super().__init__(job_id, status)
        self.job_id, self.status = job_id, status

    def __str__(self) -> str:
        return f"job {self.job_id} is still {self.status}; it goes on, wait again"


@dataclass(frozen=True, slots=True)
class Flaw:
    """One broken rule. `pointer` is a JSON pointer (RFC 6901) into the request."""

    pointer: str
    detail: str


class RefusedError(RingbackError):
    """The server understood and said no."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(status, problem)
        self.status = status
        self.problem = dict(problem)
        self.code = str(problem.get("code") or f"http_{status}")
        self.retryable = bool(problem.get("retryable", status in RETRYABLE_STATUSES))
        request_id = problem.get("requestId") or problem.get("request_id")
        self.request_id = None if request_id is None else str(request_id)
        flaws = problem.get("errors")
        self.errors = tuple(_flaw(flaw) for flaw in flaws) if isinstance(flaws, list) else ()

    def __str__(self) -> str:
        text = str(self.problem.get("detail") or self.problem.get("title") or f"HTTP {self.status}")
        flaws = "; ".join(f"{flaw.pointer or '/'}: {flaw.detail}" for flaw in self.errors)
        return f"{text} ({flaws})" if flaws and flaws not in text else text


class InvalidInputError(RefusedError):
    """The request breaks a rule; nothing was changed."""


class ProjectRequiredError(InvalidInputError):
    """More than one project is possible: name one with `project=` or `RINGBACK_PROJECT`."""


class IdempotencyKeyError(InvalidInputError):
    """The idempotency key is malformed, contradictory, or missing where the tool needs one."""


class IdempotencyConflictError(InvalidInputError):
    """The key belongs to a job that was started with another payload; that job is untouched."""


class UnauthorizedError(RefusedError):
    """No token, or one that is malformed, unknown, expired or revoked: all alike."""


class ForbiddenError(RefusedError):
    """The token is valid and does not allow this."""


class NotFoundError(RefusedError):
    """No such thing exists for this caller."""


class ConflictError(RefusedError):
    """The request does not fit the present state."""


class NotFinishedError(ConflictError):
    """The job has no result yet."""


class JobCancelledError(ConflictError):
    """The job was cancelled: there is no result and there will be none."""


class AlreadyAnsweredError(ConflictError):
    """The question is over; `problem` has its `interactionStatus` and the `response` that counts, if there is one."""


class UnavailableError(RefusedError):
    """The server cannot do it now; the request itself is fine."""


RETRYABLE_STATUSES = frozenset({429, 502, 503, 504})
BY_CODE: Mapping[str, type[RefusedError]] = {
    "project_required": ProjectRequiredError,
    "invalid_idempotency_key": IdempotencyKeyError,
    "idempotency_key_reused": IdempotencyConflictError,
    "not_finished": NotFinishedError,
    "job_cancelled": JobCancelledError,
    "already_answered": AlreadyAnsweredError,
}
BY_STATUS: Mapping[int, type[RefusedError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: NotFoundError,
    429: UnavailableError,
}


def refusal(status: int, problem: Mapping[str, Any]) -> RefusedError:
    """The error for a problem document."""
    known = BY_CODE.get(str(problem.get("code"))) or BY_STATUS.get(status)
    if known is None:
        known = UnavailableError if status >= 500 else InvalidInputError
    return known(status, problem)


def _flaw(flaw: object) -> Flaw:
    if isinstance(flaw, Mapping):
        return Flaw(str(flaw.get("pointer", "")), str(flaw.get("detail", "")))
    return Flaw("", str(flaw))
