"""Errors as RFC 9457 problem documents, from one table."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from ringback.api.reply import Reply
from ringback.domain import errors

STATUS_OF: Mapping[type[errors.RingbackError], HTTPStatus] = {
    errors.NotFoundError: HTTPStatus.NOT_FOUND,
    errors.InvalidInputError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.DependencyError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidCursorError: HTTPStatus.BAD_REQUEST,
    errors.ProjectRequiredError: HTTPStatus.BAD_REQUEST,
    errors.UnauthenticatedError: HTTPStatus.UNAUTHORIZED,
    errors.ForbiddenError: HTTPStatus.FORBIDDEN,
    errors.IdempotencyKeyError: HTTPStatus.BAD_REQUEST,
    errors.IdempotencyConflictError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.IllegalTransitionError: HTTPStatus.CONFLICT,
    errors.StaleFenceError: HTTPStatus.CONFLICT,
    errors.CancelRequestedError: HTTPStatus.CONFLICT,
    errors.SessionExpiredError: HTTPStatus.GONE,
    errors.NotFinishedError: HTTPStatus.CONFLICT,
    errors.JobCancelledError: HTTPStatus.CONFLICT,
    errors.ConflictError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StoreUnavailableError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StorageFullError: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.ShuttingDownError: HTTPStatus.SERVICE_UNAVAILABLE,
}

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = "1"


class RequestError(Exception):
    """A request that HTTP itself makes wrong: no such route, malformed JSON, too large."""

    def __init__(self, status: HTTPStatus, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, code, detail)
        self.status, self.code, self.detail = status, code, detail
        self.headers = dict(headers or {})


def status_of(error: errors.RingbackError) -> HTTPStatus:
    """The status of an error, or of the nearest of its ancestors that has one."""
    return next(
        (STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF), HTTPStatus.INTERNAL_SERVER_ERROR
    )


def problem(error: errors.RingbackError, request_id: str) -> Reply:
    """The answer to a request that the core refused."""
    status = status_of(error)
    headers: dict[str, str] = {}
    if status is HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    if error.retryable:
        headers["retry-after"] = RETRY_AFTER_S
    flaws = error.flaws if isinstance(error, errors.InvalidInputError) else ()
    pointed = [{"pointer": flaw.pointer, "detail": flaw.detail} for flaw in flaws]
    return _document(status, error.code, str(error), request_id, headers, is_retryable=error.retryable, flaws=pointed)


def request_problem(error: RequestError, request_id: str) -> Reply:
    """The answer to a request that HTTP itself makes wrong."""
    return _document(error.status, error.code, error.detail, request_id, error.headers)


def internal_problem(request_id: str) -> Reply:
    """The answer when the server is at fault; what happened stands in its log under this request id."""
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    return _document(
        status, "internal", "the server failed; its log has the request id", request_id, {}, is_retryable=True
    )


def _document(
    status: HTTPStatus,
    code: str,
    detail: str,
    request_id: str,
    headers: dict[str, str],
    *,
    is_retryable: bool = False,
    flaws: list[dict[str, str]] | None = None,
) -> Reply:
    body: dict[str, Any] = {
        "type": f"/problems/{code}",
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
        "code": code,
        "retryable": is_retryable,
        "requestId": request_id,
    }
    if flaws:
        body["errors"] = flaws
    return Reply(status, msgspec.json.encode(body), media_type=MEDIA_TYPE, headers=headers)
