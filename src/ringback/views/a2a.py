"""The A2A surface: a run as a task, in the JSON of the protocol (1.0), with no state that the run doesn't have.

The word of a task follows from the run alone (`domain.states.a2a_word`). What the work brought is one artifact, what it wrote
another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.moments import Moment, rfc3339
from ringback.domain.runs import Run
from ringback.domain.states import a2a_word
from ringback.services.questions import Interaction
from ringback.services.resources import Resource
from ringback.services.results import ResultPage
from ringback.summaries.text import clean_text
from ringback.views.interactions import interaction

INTERRUPTED = ("TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED")
EXACT_MAX = 2**53  # numbers of the protocol are doubles
DEPTH_MAX = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A run with what a task shows of it.

    Attributes:
        question: the one that blocks it.
        brought: the first page of its result, once it has ended well or badly.
    """

    run: Run
    context_id: str
    question: Interaction | None = None
    brought: ResultPage | None = None


def task(seen: Seen) -> dict[str, Any]:
    """The whole task."""
    body: dict[str, Any] = {"id": seen.run.run_id, "contextId": seen.context_id, "status": status(seen)}
    if found := artifacts(seen):
        body["artifacts"] = found
    return body


def status(seen: Seen) -> dict[str, Any]:
    """The task's status, with a message where there is something to say."""
    run, question = seen.run, seen.question
    word = a2a_word(run.status, run.attempt_no, blocked_by=None if question is None else question.kind)
    body: dict[str, Any] = {"state": f"TASK_STATE_{word}", "timestamp": rfc3339(_since(run))}
    parts = _question_parts(question) if question is not None and not run.is_terminal else _text_parts(run)
    if parts:
        message = {"messageId": f"{run.run_id}:{run.event_sequence}", "role": "ROLE_AGENT", "parts": parts}
        body["message"] = {**message, "taskId": run.run_id, "contextId": seen.context_id}
    return body


def _since(run: Run) -> Moment:
    blocked = None if run.blocking is None else run.blocking.since
    return run.ended_at or blocked or run.started_at or run.created_at


def _question_parts(question: Interaction) -> list[dict[str, Any]]:
    return [{"text": str(question.question["title"])}, data_part({"interaction": interaction(question)})]


def _text_parts(run: Run) -> list[dict[str, Any]]:
    text = (run.summary or run.error) if run.is_terminal else _progress(run.progress)
    return [{"text": text}] if text else []


def _progress(progress: Mapping[str, Any] | None) -> str | None:
    if progress is None:
        return None
    done, total, message = (progress.get(name) for name in ("done", "total", "message"))
    counted = None if done is None else f"{done:g}" if total is None else f"{done:g}/{total:g}"
    return " ".join(part for part in (counted, message) if part) or None


def artifacts(seen: Seen) -> list[dict[str, Any]]:
    """What it brought and what it wrote, as far as the first page goes."""
    page = seen.brought
    if page is None:
        return []
    found: list[dict[str, Any]] = []
    value = dict(page.value or {})
    if page.items is not None:
        value["items"] = page.items
    if value:
        found.append({"artifactId": "result", "name": "result", "parts": [data_part(value)]})
    if page.output:
        more = {"isComplete": page.next_cursor is None}
        parts = [{"text": clean_text(page.output), "mediaType": "text/plain"}]
        found.append({"artifactId": "output", "name": "output", "parts": parts, "metadata": more})
    return found


def data_part(value: Any) -> dict[str, Any]:
    """JSON as a data part; as text where a double could not hold a number of it, or it is nested too deeply."""
    if _is_plain(value, DEPTH_MAX):
        return {"data": value, "mediaType": "application/json"}
    return {"text": json.dumps(value, ensure_ascii=False), "mediaType": "application/json"}


def _is_plain(value: Any, depth: int) -> bool:
    if isinstance(value, Mapping):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value.values())
    if isinstance(value, list | tuple):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value)
    return not isinstance(value, int) or -EXACT_MAX <= value <= EXACT_MAX


def skill(offered: Resource) -> dict[str, Any]:
    """A tool or an agent of the project as a skill of the authenticated card."""
    return {
        "id": offered.name if offered.type == "tool" else f"{offered.type}:{offered.name}",
        "name": offered.name,
        "description": str(offered.definition.get("description") or f"Runs {offered.name}."),
        "tags": [offered.type],
        "inputModes": ["application/json", "text/plain"],
        "outputModes": ["application/json", "text/plain"],
    }


def card(url: str, version: str) -> dict[str, Any]:
    """The public card: what this server is, and nothing of what is in it."""
    return {
        "name": "Ringback",
        "description": "Durable asynchronous runs: start work, hang up, ask later. What it can run is told to members.",
        "version": version,
        "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ],
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": True},
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "defaultInputModes": ["application/json", "text/plain"],
        "defaultOutputModes": ["application/json", "text/plain"],
        "skills": [
            {
                "id": "run",
                "name": "Run a tool",
                "description": 'Starts a tool: a data part {"tool": NAME, "arguments": {…}}.',
                "tags": ["run"],
            }
        ],
    }
