"""What a server asks its client, as questions to people: elicitation in both modes, and sampling where it was allowed.

A question is known by what it says and by how many were asked before it, so a later attempt of the run that asks the
same finds the answer that an earlier one got.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from ringback.worker.hosting.errors import AnswerError

TITLE_MAX: Final = 200
DESCRIPTION_MAX: Final = 4_000
KEY_MAX: Final = 100
USER_REJECTED: Final = -1
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
_SAMPLING: Final = "The MCP server asks for the answer of a model"

Question = dict[str, Any]
Answer = Mapping[str, Any] | None


def question_of(nth: int, method: str, params: Mapping[str, Any]) -> Question:
    """The question as the server of runs takes it.

    Raises:
        AnswerError: nobody can be asked this.
    """
    match method:
        case "elicitation/create" if params.get("mode", "form") == "form":
            question = _titled("input", str(params.get("message", "")))
            schema = params.get("requestedSchema")
            if not isinstance(schema, Mapping):
                raise AnswerError(INVALID_PARAMS, "requestedSchema must be an object")
            question["responseSchema"] = dict(schema)
        case "elicitation/create" if params.get("mode") == "url":
            text = f"{params.get('message', '')}\n\nOpen {params.get('url')} and confirm when you are done."
            question = _titled("confirmation", text)
        case "sampling/createMessage":
            question = _titled("input", f"{_SAMPLING}\n\n{_conversation(params)}")
            question["responseSchema"] = {"type": "string", "title": "Answer"}
        case _:
            raise AnswerError(METHOD_NOT_FOUND, f"{method}: not declared")
    asked = json.dumps([method, params], sort_keys=True, default=str).encode()
    key = f"{nth}. {hashlib.sha256(asked).hexdigest()[:16]} {question['title']}"
    return {**question, "key": key[:KEY_MAX], "blocking": True}


def result_of(method: str, params: Mapping[str, Any], status: str, answer: Answer) -> dict[str, Any]:
    """The answer as the MCP server takes it.

    Raises:
        AnswerError: there is none.
    """
    is_rejected = answer is not None and answer.get("decision") == "reject"
    if method == "sampling/createMessage":
        if answer is None or is_rejected:
            raise AnswerError(USER_REJECTED, f"nobody gave an answer: the question is {status}")
        content = {"type": "text", "text": str(answer.get("payload") or "")}
        return {"role": "assistant", "content": content, "model": "person", "stopReason": "endTurn"}
    if answer is None:
        return {"action": "cancel"}
    if is_rejected:
        return {"action": "decline"}
    if params.get("mode", "form") != "form":
        return {"action": "accept"}
    payload = answer.get("payload")
    return {"action": "accept", "content": payload if isinstance(payload, dict) else {}}


def _titled(kind: str, text: str) -> Question:
    """The first line as the title, the rest beside it."""
    first, _, rest = text.strip().partition("\n")
    title = " ".join(first.split())[:TITLE_MAX] or "The MCP server asks"
    described = (text if len(first) > TITLE_MAX else rest).strip()[:DESCRIPTION_MAX]
    return {"kind": kind, "title": title} | ({"description": described} if described else {})


def _conversation(params: Mapping[str, Any]) -> str:
    lines = [f"system: {params['systemPrompt']}"] if params.get("systemPrompt") else []
    for message in params.get("messages") or ():
        content = message.get("content") if isinstance(message, Mapping) else None
        for block in content if isinstance(content, list) else [content]:
            if isinstance(block, Mapping):
                said = block.get("text") if block.get("type") == "text" else f"({block.get('type')})"
                lines.append(f"{message.get('role')}: {said}")
    return "\n".join(lines)
