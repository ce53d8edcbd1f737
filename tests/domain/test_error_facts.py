"""Errors carry facts as attributes; their messages are for people and cut what a caller made too long."""

from __future__ import annotations

import pytest

from ringback.domain import errors
from ringback.domain.errors import Flaw, RingbackError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (errors.NotFoundError("run", "r1"), "no such run: 'r1'"),
        (errors.InvalidInputError(Flaw("/a", "is bad"), Flaw("", "is worse")), "/a: is bad; /: is worse"),
        (errors.DependencyError(Flaw("/depends_on/0", "no such run")), "/depends_on/0: no such run"),
        (
            errors.ProtocolVersionError(7, (1, 2)),
            "/protocolVersion: 7 is not spoken here; this server speaks 1, 2",
        ),
        (errors.InvalidCursorError("cursor", "is not one of ours"), "/cursor: is not one of ours"),
        (errors.ProjectRequiredError(), "name the project: header Ringback-Project, or a token bound to one"),
        (errors.UnauthenticatedError(), "a valid bearer token is needed"),
        (errors.ForbiddenError("runs:write"), "this needs runs:write, from the token and from the role of its user"),
        (errors.IdempotencyKeyError("too long"), "too long"),
        (
            errors.IdempotencyConflictError("r1"),
            "this idempotency key started run r1 with another payload; use a new key for a new run",
        ),
        (errors.IllegalTransitionError("r1", "failed", "claim"), "run r1 is failed: cannot claim"),
        (errors.StaleFenceError("r1", 2, 3), "run r1: fence 2 no longer holds it (current: 3)"),
        (errors.CancelRequestedError("r1"), "run r1 was stopped before it started"),
        (errors.SessionExpiredError("s1"), "worker session s1 is over: end its attempts and attach again"),
        (errors.UnsupportedCapabilityError("kv.read"), "the runtime attached without kv.read"),
        (errors.NotFinishedError("r1"), "run r1 is not finished; ask again later, or with partial=true"),
        (
            errors.AlreadyAnsweredError("i1", "answered", {}),
            "interaction i1 is answered: it can be answered once, while it is open",
        ),
        (errors.JobCancelledError("r1"), "run r1 was cancelled"),
        (errors.StoreUnavailableError(), "the store is not available; nothing was saved"),
        (errors.StorageFullError(), "the disk of the data folder is full; nothing was saved"),
        (errors.ShuttingDownError(), "the server is shutting down"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, RingbackError) else "",
)
def test_message(error: RingbackError, message: str) -> None:
    assert str(error) == message


def test_what_is_safe_to_repeat() -> None:
    repeatable = {
        errors.RateLimitedError,
        errors.ConflictError,
        errors.StoreUnavailableError,
        errors.StorageFullError,
        errors.ShuttingDownError,
    }
    kinds = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, RingbackError)]
    assert {kind for kind in kinds if kind.retryable} == repeatable


def test_long_names_are_cut() -> None:
    assert len(str(errors.NotFoundError("run", "x" * 10_000))) < 120
    assert len(str(errors.SessionExpiredError("x" * 10_000))) < 160
