"""The tools that every project has, as a model reads them: their names, texts, schemas and hints."""

from __future__ import annotations

from functools import cache
from typing import Any

import mcp_types as types

CONTRACT_VERSION = "1.0.0"

_ID = {"type": "string", "description": "The job_id that a start returned."}
_PROJECT = {"type": ["string", "null"], "description": "Slug of the project; omitted: the current one."}
_JOB: dict[str, Any] = {
    "type": "object",
    "properties": {
        "job_id": {"type": "string"},
        "status": {"enum": ["queued", "running", "done", "failed", "cancelled"]},
    },
    "required": ["job_id", "status"],
}
HANDLE: dict[str, Any] = {
    "type": "object",
    "properties": {"job_id": {"type": "string"}, "status": {"const": "queued"}},
    "required": ["job_id", "status"],
    "additionalProperties": False,
}
RESULT = _JOB
INSTRUCTIONS = (
    "Ringback runs slow work (test suites, builds, deployments) as durable jobs. A start returns a job_id at once: do not wait "
    "for the job, go on talking to the user or with other work; the result is reported when it is there, or fetch it later with "
    "get_job_result. Jobs go on when this conversation or connection ends; list_jobs finds them again."
)


@cache
def builtin_tools() -> dict[str, types.Tool]:
    """By name."""
    return {tool.name: tool for tool in (*_looking(), *_acting(), *_projects())}


def _looking() -> list[types.Tool]:
    """Reading jobs."""
    return [
        _tool(
            "get_job_status",
            "Look at a job once: its status, progress, one-line summary, and the question it is waiting on, if any. "
            "Do not call this in a loop; use wait_for_jobs, or go on with something else.",
            {"job_id": _ID},
            required=("job_id",),
            output=_JOB,
            reads=True,
        ),
        _tool(
            "get_job_result",
            "Fetch the result of a finished job: its output or items, exit code and summary, a page at a time. "
            "While the job is active this is an error that says so. Long output: pass next_cursor to get the next page.",
            {
                "job_id": _ID,
                "cursor": {"type": "string", "description": "next_cursor of the page before."},
                "max_bytes": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "Bytes of output on this page, 65536 if omitted.",
                },
            },
            required=("job_id",),
            output=_JOB,
            reads=True,
        ),
        _tool(
            "list_jobs",
            "List jobs of the project, newest first. Use it to find job ids again after the conversation "
            "was shortened or restarted.",
            {
                "status": {
                    "enum": ["active", "queued", "running", "done", "failed", "cancelled"],
                    "description": "Only these; active: all that have not ended.",
                },
                "tool": {"type": "string", "description": "Only jobs of this tool."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "20 if omitted."},
                "cursor": {"type": "string", "description": "next_cursor of the page before."},
            },
            output={
                "type": "object",
                "properties": {"jobs": {"type": "array", "items": _JOB}, "next_cursor": {"type": "string"}},
                "required": ["jobs"],
            },
            reads=True,
        ),
        _tool(
            "wait_for_jobs",
            "Wait until all of these jobs have ended, at most timeout_s seconds (25 at most), and say how each stands. Only "
            "useful when there is nothing else to do: results are reported without it.",
            {
                "job_ids": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 20},
                "timeout_s": {"type": "integer", "minimum": 0, "maximum": 25, "description": "20 if omitted."},
            },
            required=("job_ids",),
            output={
                "type": "object",
                "properties": {"jobs": {"type": "array", "items": _JOB}, "all_ended": {"type": "boolean"}},
                "required": ["jobs", "all_ended"],
            },
            reads=True,
        ),
    ]


def _acting() -> list[types.Tool]:
    """What changes something."""
    return [
        _tool(
            "stop_job",
            "Ask a job to stop. Harmless when it has ended. The answer may still say running: its end is reported like any "
            "other, and says honestly whether the work was stopped or had finished before.",
            {"job_id": _ID, "reason": {"type": "string", "maxLength": 500, "description": "Why, for the record."}},
            required=("job_id",),
            output=_JOB,
            idempotent=True,
            destructive=True,
        ),
        _tool(
            "answer_interaction",
            "Answer a question that a job is waiting on (get_job_status shows it). Only with what the user said: never "
            "approve by yourself what the user was asked to approve. A question can be answered once.",
            {
                "interaction_id": {"type": "string"},
                "decision": {
                    "enum": ["approve", "reject"],
                    "description": "For an approval or a confirmation, or to refuse to answer.",
                },
                "selected_option_id": {
                    "type": "string",
                    "description": "The id of the chosen option, where there are options.",
                },
                "payload": {"description": "The answer itself, in the shape that the question asks for."},
            },
            required=("interaction_id",),
            output={"type": "object"},
            destructive=True,
        ),
    ]


def _projects() -> list[types.Tool]:
    """Projects, scripts and detached runs (R1)."""
    return [
        _tool("list_projects", "List the projects that this connection may use.", {}, reads=True),
        _tool(
            "read_async_run",
            "Read a detached run once, by the run id that a detached test_run_script or an asynchronous endpoint returned. A run "
            "whose status is failed is read successfully. Never waits.",
            {
                "project": _PROJECT,
                "run_id": {"type": "string", "description": "The id of the detached run, not a request id."},
            },
            required=("run_id",),
            reads=True,
        ),
        _tool(
            "test_run_script",
            "Run a stored script once. With detached=true the run id is returned at once, to be read with read_async_run.",
            {
                "project": _PROJECT,
                "name": {"type": "string", "description": "The script's name."},
                "args": {"default": None, "description": "Any JSON; omitted or null: {}."},
                "detached": {
                    "type": ["boolean", "null"],
                    "description": "Return the run id at once. False if omitted.",
                },
            },
            required=("name",),
        ),
    ]


def _tool(
    name: str,
    description: str,
    properties: dict[str, Any],
    *,
    required: tuple[str, ...] = (),
    output: dict[str, Any] | None = None,
    reads: bool = False,
    idempotent: bool | None = None,
    destructive: bool | None = None,
) -> types.Tool:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    hints = types.ToolAnnotations(
        read_only_hint=reads,
        idempotent_hint=reads if idempotent is None else idempotent,
        destructive_hint=False if reads else destructive,
        open_world_hint=False,
    )
    return types.Tool(name=name, description=description, input_schema=schema, output_schema=output, annotations=hints)


def contract() -> dict[str, Any]:
    """What is checked in as `contracts/<version>/mcp-tools.json`."""
    tools = builtin_tools()
    shown = [tools[name].model_dump(mode="json", by_alias=True, exclude_none=True) for name in sorted(tools)]
    return {"version": CONTRACT_VERSION, "tools": shown}
