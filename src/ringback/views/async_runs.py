"""The async-run surface (snake_case): one run as whoever polls it sees it. An optional fact that is null is absent.

`method`, `path` and `source` say how the run came about: the request to a published endpoint, a test of a script, or the door
through which it was started. A result that is JSON null is absent, too, because absent and null mean the same here.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ringback.domain.moments import rfc3339
from ringback.domain.runs import Run, RunFacts
from ringback.domain.states import FailureKind, Status, async_run_word
from ringback.services.runs import Details
from ringback.views.moments import shown

ENDPOINT = "endpoint"
TEST = "test"
_ASKED = frozenset((ENDPOINT, TEST))  # only their doors set it, so that nobody's caller context is taken for a request
_JOBS, _RUNS = ("POST", "/jobs"), ("POST", "/v1/runs")
_DOORS: Mapping[str, tuple[str, str]] = {"jobs": _JOBS, "runs": _RUNS, "api": _RUNS, "rerun": _RUNS}


def async_run(details: Details, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """A run with its output, `value` being the body of its result (see `Results.value`)."""
    run, facts = details.run, details.facts
    method, path = _way_in(run, facts)
    status = async_run_word(run.status, run.attempt_no)
    body = {
        "id": run.run_id,
        "request_id": facts.request_id,
        "method": method,
        "path": path,
        "status": status,
        "source": facts.source,
        "created_at": rfc3339(run.created_at),
        "target_kind": "script" if facts.profile["runtime"] == "script" else facts.resource_type,
        "target_ref": run.tool,
        "error_kind": run.failure_kind and run.failure_kind.value,
        "error_message": run.error if run.failure_kind else None,
        "started_at": shown(run.started_at),
        "finished_at": shown(run.ended_at),
        "http_status": int(http_status(run)) if run.is_terminal and facts.source == ENDPOINT else None,
        "queue_position": details.queue_position if status == "queued" else None,
        "output": output_of(run, value),
    }
    return {name: each for name, each in body.items() if each is not None}


def output_of(run: Run, value: Mapping[str, Any] | None) -> Any:
    """What the work returned, if it succeeded."""
    return value.get("result") if value and run.status is Status.SUCCEEDED else None


def http_status(run: Run) -> HTTPStatus:
    """What an endpoint answers to the request that this run was made for, once it has ended."""
    if run.status is Status.SUCCEEDED:
        return HTTPStatus.OK
    if run.status is Status.CANCELED:
        return HTTPStatus.CONFLICT
    match run.failure_kind:
        case FailureKind.TIMEOUT:
            return HTTPStatus.GATEWAY_TIMEOUT
        case FailureKind.INVALID_PARAMS:
            return HTTPStatus.UNPROCESSABLE_ENTITY
        case _:
            return HTTPStatus.BAD_GATEWAY


def _way_in(run: Run, facts: RunFacts) -> tuple[str, str]:
    if facts.source in _ASKED:
        asked = facts.input["callerContext"]["request"]
        return asked["method"], asked["path"]
    return _DOORS.get(facts.source, ("RUN", run.tool))
