"""Every error that Ringback raises on purpose. `code` is public: clients branch on it, so it never changes.

RingbackError
├── NotFoundError                 no such thing, or not yours: the same answer
├── InvalidInputError             the caller's data breaks a rule; says where and which
│   ├── DependencyError           unknown upstream run, or a cycle
│   ├── ProtocolVersionError      the runtime speaks no version of the protocol that the server speaks
│   └── InvalidCursorError
├── ProjectRequiredError
├── UnauthenticatedError
├── ForbiddenError
│   └── NotARespondentError       the question is put to others
├── RateLimitedError             retry later: too many requests with this token
├── AlreadyExistsError            the name is taken
├── IdempotencyKeyError           the key itself is malformed or missing
├── IdempotencyConflictError      the key was used for another payload
├── IllegalTransitionError        makes no sense in the run's present status
├── StaleFenceError               the writer's attempt was superseded
├── CancelRequestedError          the run was stopped before it started
├── SessionExpiredError           the worker session is over
├── UnsupportedCapabilityError    was not agreed on when the runtime attached
├── AlreadyAnsweredError          the question is over; shows the answer that counts
├── CallbackUsedError             a one-time address has had its delivery
├── InvalidSignatureError         a delivery that should be signed is not
├── NotFinishedError              no result yet
├── JobCancelledError             there will be no result
├── ChannelMovedError             the channel points elsewhere than the caller believes
├── BudgetExceededError           the family of a run may not grow further
├── ConflictError                 retry: someone else was faster, nothing was saved
├── StoreUnavailableError         retry: nothing was saved
│   └── StorageFullError
└── ShuttingDownError             retry elsewhere or later
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


class RingbackError(Exception):
    """Base of all errors a caller may want to catch. Facts are attributes; the message is for people."""

    code: ClassVar[str] = "internal"
    retryable: ClassVar[bool] = False
    retry_after_s = 1


class NotFoundError(RingbackError):
    """No object of that kind and name exists for this caller."""

    code = "not_found"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(kind, name)
        self.kind, self.name = kind, name

    def __str__(self) -> str:
        return f"no such {self.kind}: {self.name[:80]!r}"


@dataclass(frozen=True, slots=True)
class Flaw:
    """One broken rule. `pointer` is a JSON pointer (RFC 6901) into the caller's document."""

    pointer: str
    detail: str


class InvalidInputError(RingbackError):
    """The caller's data breaks a rule; nothing was changed."""

    code = "invalid_input"

    def __init__(self, *flaws: Flaw) -> None:
        super().__init__(*flaws)
        self.flaws = flaws

    def __str__(self) -> str:
        return "; ".join(f"{flaw.pointer or '/'}: {flaw.detail}" for flaw in self.flaws)


class DependencyError(InvalidInputError):
    """`depends_on` names a run that the caller can't see, or would close a circle."""

    code = "invalid_dependency"


class ProtocolVersionError(InvalidInputError):
    """The runtime speaks no version of the protocol that the server speaks; `supported` are those that it does."""

    code = "unsupported_protocol_version"

    def __init__(self, given: int, supported: tuple[int, ...]) -> None:
        spoken = ", ".join(map(str, supported))
        super().__init__(Flaw("/protocolVersion", f"{given} is not spoken here; this server speaks {spoken}"))
        self.given, self.supported = given, supported


class InvalidCursorError(InvalidInputError):
    """The cursor or position is not one that this list or stream gave out."""

    code = "invalid_cursor"

    def __init__(self, name: str, detail: str) -> None:
        super().__init__(Flaw(f"/{name}", detail))


class ProjectRequiredError(RingbackError):
    """More than one project is possible and none was named."""

    code = "project_required"

    def __str__(self) -> str:
        return "name the project: header Ringback-Project, or a token bound to one"


class UnauthenticatedError(RingbackError):
    """No token, or one that is malformed, unknown, expired or revoked: all alike."""

    code = "unauthenticated"

    def __str__(self) -> str:
        return "a valid bearer token is needed"


class ForbiddenError(RingbackError):
    """The token is valid; its scopes or its user's role don't allow this."""

    code = "forbidden"

    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.scope = scope

    def __str__(self) -> str:
        return f"this needs {self.scope}, from the token and from the role of its user"


class NotARespondentError(ForbiddenError):
    """The question is put to members with a higher role than the caller's."""

    code = "not_a_respondent"

    def __init__(self, needed: str, role: str) -> None:
        super().__init__("interactions:answer")
        self.needed, self.role = needed, role

    def __str__(self) -> str:
        return f"this question is put to the role {self.needed} and above; yours is {self.role or 'none'}"


class RateLimitedError(RingbackError):
    """Too many requests with one token. Nothing was done; the same request may be sent again."""

    code = "rate_limited"
    retryable = True

    def __init__(self, after_s: int) -> None:
        super().__init__(after_s)
        self.retry_after_s = after_s

    def __str__(self) -> str:
        return f"too many requests with this token; try again in {self.retry_after_s} s"


class AlreadyExistsError(RingbackError):
    """The name is taken; nothing was changed."""

    code = "already_exists"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(kind, name)
        self.kind, self.name = kind, name

    def __str__(self) -> str:
        return f"there is a {self.kind} {self.name[:80]!r} already"


class IdempotencyKeyError(RingbackError):
    """The idempotency key is malformed, contradictory, or missing where the tool needs one."""

    code = "invalid_idempotency_key"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)

    def __str__(self) -> str:
        return str(self.args[0])


class IdempotencyConflictError(RingbackError):
    """The key belongs to a run that was started with another payload; that run is untouched."""

    code = "idempotency_key_reused"

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"this idempotency key started run {self.run_id} with another payload; use a new key for a new run"


class IllegalTransitionError(RingbackError):
    """The command makes no sense in the run's present status."""

    code = "illegal_transition"

    def __init__(self, run_id: str, status: str, command: str) -> None:
        super().__init__(run_id, status, command)
        self.run_id, self.status, self.command = run_id, status, command

    def __str__(self) -> str:
        return f"run {self.run_id} is {self.status}: cannot {self.command}"


class StaleFenceError(RingbackError):
    """The writer's attempt was superseded or has ended; what it brings must be thrown away."""

    code = "stale_fence"

    def __init__(self, run_id: str, presented: int, current: int) -> None:
        super().__init__(run_id, presented, current)
        self.run_id, self.presented, self.current = run_id, presented, current

    def __str__(self) -> str:
        return f"run {self.run_id}: fence {self.presented} no longer holds it (current: {self.current})"


class CancelRequestedError(RingbackError):
    """The run was stopped before its attempt started: do not start it."""

    code = "cancel_requested"

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"run {self.run_id} was stopped before it started"


class SessionExpiredError(RingbackError):
    """The worker session's lease ran out, or it was closed; attach again."""

    code = "session_expired"

    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id

    def __str__(self) -> str:
        return f"worker session {self.session_id[:80]} is over: end its attempts and attach again"


class UnsupportedCapabilityError(RingbackError):
    """The runtime and the server did not agree on this capability when the runtime attached."""

    code = "unsupported_capability"

    def __init__(self, capability: str) -> None:
        super().__init__(capability)
        self.capability = capability

    def __str__(self) -> str:
        return f"the runtime attached without {self.capability}"


class AlreadyAnsweredError(RingbackError):
    """The question is over: answered, rejected, expired or withdrawn. `response` is the answer that counts, if there was one."""

    code = "already_answered"

    def __init__(self, interaction_id: str, status: str, response: Mapping[str, Any] | None) -> None:
        super().__init__(interaction_id, status)
        self.interaction_id, self.status, self.response = interaction_id, status, response

    def __str__(self) -> str:
        return f"interaction {self.interaction_id} is {self.status}: it can be answered once, while it is open"


class CallbackUsedError(RingbackError):
    """The one-time address has had its delivery, which was another one; nothing was changed."""

    code = "callback_used"

    def __str__(self) -> str:
        return "this address takes one delivery and has had it"


class InvalidSignatureError(RingbackError):
    """The delivery bears no valid signature, or an old one; the address is still open."""

    code = "invalid_signature"

    def __str__(self) -> str:
        return "a valid Standard Webhooks signature, not older than five minutes, is needed"


class NotFinishedError(RingbackError):
    """The run has no result yet."""

    code = "not_finished"

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"run {self.run_id} is not finished; ask again later, or with partial=true"


class JobCancelledError(RingbackError):
    """The run was cancelled: there is no result and there will be none."""

    code = "job_cancelled"

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id

    def __str__(self) -> str:
        return f"run {self.run_id} was cancelled"


class ChannelMovedError(RingbackError):
    """Somebody else switched the channel first; `revision_id` is where it points now, None for nowhere."""

    code = "channel_moved"

    def __init__(self, channel: str, revision_id: str | None) -> None:
        super().__init__(channel, revision_id)
        self.channel, self.revision_id = channel, revision_id

    def __str__(self) -> str:
        where = "nowhere" if self.revision_id is None else f"to {self.revision_id[:160]!r}"
        return f"channel {self.channel[:40]!r} points {where} by now"


class BudgetExceededError(RingbackError):
    """So many runs, or so many generations, may come from that run, and there are as many."""

    code = "budget_exceeded"

    def __init__(self, run_id: str, bound: str, limit: int) -> None:
        super().__init__(run_id, bound, limit)
        self.run_id, self.bound, self.limit = run_id, bound, limit

    def __str__(self) -> str:
        what = "runs" if self.bound == "runs" else "generations of runs"
        return f"the budget of run {self.run_id[:40]!r} allows {self.limit} {what} to come from it"


class ConflictError(RingbackError):
    """Someone else changed the row first. Nothing was saved; load again and decide again."""

    code = "conflict"
    retryable = True


class StoreUnavailableError(RingbackError):
    """The store did not take the write. Nothing was saved; the same request may be sent again."""

    code = "store_unavailable"
    retryable = True

    def __str__(self) -> str:
        return "the store is not available; nothing was saved"


class StorageFullError(StoreUnavailableError):
    """The disk is full. Nothing was saved; it works again once there is space."""

    code = "storage_full"

    def __str__(self) -> str:
        return "the disk of the data folder is full; nothing was saved"


class ShuttingDownError(RingbackError):
    """The server is going down and takes nothing new."""

    code = "shutting_down"
    retryable = True

    def __str__(self) -> str:
        return "the server is shutting down"
