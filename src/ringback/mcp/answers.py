"""How an answer of the API becomes the result of a tool call: a value, an error for the model, or an error of the protocol."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import mcp_types as types

from ringback.client.errors import (
    AlreadyAnsweredError,
    ProjectRequiredError,
    RefusedError,
    RingbackError,
    UnreachableError,
)
from ringback.client.exchange import LostError

TEXT_MAX = 100_000


def structured(value: dict[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    """A value, as structure and as text."""
    return types.CallToolResult(content=[_text(value)], structured_content=value, is_error=is_error)


def finished(job: dict[str, Any], *, is_foreign: bool) -> types.CallToolResult:
    """How a job ended. A tool of an MCP server answers as that server did, with the job's id beside it."""
    is_error = job["status"] != "done"
    told = (job.get("error") or {}).get("detail") if is_error else job.get("result")
    if is_foreign and isinstance(told, dict) and isinstance(told.get("content"), list):
        found = {"content": told["content"], "isError": is_error, "_meta": {"ringback/jobId": job["job_id"]}}
        if isinstance(told.get("structuredContent"), dict):
            found["structuredContent"] = told["structuredContent"]
        try:
            return types.CallToolResult.model_validate(found)
        except ValueError:  # blocks of a kind that nobody here knows
            pass
    return structured(job, is_error=is_error)


def plain(value: Any) -> types.CallToolResult:
    """A value as one block of JSON text, where no structure is promised (R1)."""
    return types.CallToolResult(content=[_text(value)], is_error=False)


def failed(error: RingbackError) -> types.CallToolResult:
    """The error envelope (R1): `{"error": {code, message, http_status?, retryable, request_id?}}`."""
    return types.CallToolResult(content=[_text({"error": envelope(error)})], is_error=True)


def envelope(error: RingbackError) -> dict[str, Any]:
    """What went wrong, in the words of R1."""
    facts: dict[str, Any] = {"code": _code(error), "message": str(error)}
    if isinstance(error, RefusedError):
        facts["http_status"] = error.status
        if error.errors:
            facts["errors"] = [{"pointer": flaw.pointer, "detail": flaw.detail} for flaw in error.errors]
    if isinstance(error, AlreadyAnsweredError):  # with the answer that counts
        facts["interaction_status"] = error.problem.get("interactionStatus")
        facts["response"] = error.problem.get("response")
    facts["retryable"] = error.retryable
    if error.request_id is not None:
        facts["request_id"] = error.request_id
    return facts


def project_required() -> types.CallToolResult:
    """More than one project is possible and none was named."""
    message = "name a project: the `project` argument, or RINGBACK_PROJECT"
    facts = {"code": "project_required", "message": message, "retryable": False}
    return types.CallToolResult(content=[_text({"error": facts})], is_error=True)


def _code(error: RingbackError) -> str:
    match error:
        case ProjectRequiredError():
            return "project_required"
        case RefusedError(status=status):
            return "http_5xx" if status >= 500 else "http_4xx"
        case UnreachableError() if _timed_out(error):
            return "timeout"
        case UnreachableError():
            return "network_error"
        case _:
            return "http_5xx"


def _timed_out(error: UnreachableError) -> bool:
    lost = error.__cause__
    within = lost.__cause__ if isinstance(lost, LostError) else lost
    return isinstance(within, httpx2.TimeoutException | TimeoutError)


def _text(value: Any) -> types.TextContent:
    return types.TextContent(type="text", text=json.dumps(value, ensure_ascii=False, separators=(",", ":")))
