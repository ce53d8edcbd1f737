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
    errors.ProtocolVersionError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.InvalidCursorError: HTTPStatus.BAD_REQUEST,
    errors.ProjectRequiredError: HTTPStatus.BAD_REQUEST,
    errors.UnauthenticatedError: HTTPStatus.UNAUTHORIZED,
    errors.ForbiddenError: HTTPStatus.FORBIDDEN,
    errors.NotARespondentError: HTTPStatus.FORBIDDEN,
    errors.RateLimitedError: HTTPStatus.TOO_MANY_REQUESTS,
    errors.AlreadyExistsError: HTTPStatus.CONFLICT,
    errors.IdempotencyKeyError: HTTPStatus.BAD_REQUEST,
    errors.IdempotencyConflictError: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.IllegalTransitionError: HTTPStatus.CONFLICT,
    errors.StaleFenceError: HTTPStatus.CONFLICT,
    errors.CancelRequestedError: HTTPStatus.CONFLICT,
    errors.UnsupportedCapabilityError: HTTPStatus.CONFLICT,
    errors.SessionExpiredError: HTTPStatus.GONE,
    errors.AlreadyAnsweredError: HTTPStatus.CONFLICT,
    errors.CallbackUsedError: HTTPStatus.CONFLICT,
    errors.InvalidSignatureError: HTTPStatus.FORBIDDEN,
    errors.NotFinishedError: HTTPStatus.CONFLICT,
    errors.JobCancelledError: HTTPStatus.CONFLICT,
    errors.ChannelMovedError: HTTPStatus.CONFLICT,
    errors.BudgetExceededError: HTTPStatus.CONFLICT,
    errors.ConflictError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StoreUnavailableError: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.StorageFullError: HTTPStatus.INSUFFICIENT_STORAGE,
    errors.ShuttingDownError: HTTPStatus.SERVICE_UNAVAILABLE,
}

MEDIA_TYPE = "application/problem+json"


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
    headers: dict[str, str] = {}
    if status_of(error) is HTTPStatus.UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    if error.retryable:
        headers["retry-after"] = str(error.retry_after_s)
    return _reply(document_of(error, request_id), headers)


def document_of(error: errors.RingbackError, request_id: str) -> dict[str, Any]:
    """The problem document of a refusal."""
    document = _document(status_of(error), error.code, str(error), request_id, is_retryable=error.retryable)
    if isinstance(error, errors.InvalidInputError):
        document["errors"] = [{"pointer": flaw.pointer, "detail": flaw.detail} for flaw in error.flaws]
    if isinstance(error, errors.ProtocolVersionError):
        document["supportedVersions"] = list(error.supported)
    if isinstance(error, errors.AlreadyAnsweredError):
        document |= {"interactionStatus": error.status, "response": error.response}
    return document


def request_problem(error: RequestError, request_id: str) -> Reply:
    """The answer to a request that HTTP itself makes wrong."""
    return _reply(_document(error.status, error.code, error.detail, request_id), error.headers)


def internal_problem(request_id: str) -> Reply:
    """The answer when the server is at fault; what happened stands in its log under this request id."""
    status, detail = HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed; its log has the request id"
    return _reply(_document(status, "internal", detail, request_id, is_retryable=True), {})


def _document(
    status: HTTPStatus, code: str, detail: str, request_id: str, *, is_retryable: bool = False
) -> dict[str, Any]:
    return {
        "type": f"/problems/{code}",
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
        "code": code,
        "retryable": is_retryable,
        "requestId": request_id,
    }


def _reply(document: dict[str, Any], headers: dict[str, str]) -> Reply:
    return Reply(document["status"], msgspec.json.encode(document), media_type=MEDIA_TYPE, headers=headers)
