"""What a message asks for: a tool with arguments, an agent with words, or an answer to a question. Reading it takes no SDK."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringback.domain.errors import Flaw, InvalidInputError
from ringback.services.questions import DECIDED, Answer, Interaction
from ringback.services.resources import Resource

START_MEMBERS = frozenset(("tool", "arguments"))
NAME_IT = 'name what to run: a data part {"tool": NAME, "arguments": {…}}, or {"agent": NAME} beside a text'
ANSWER_MEMBERS = frozenset(("decision", "selectedOptionId", "payload"))
REJECTIONS = frozenset(("no", "reject", "rejected", "deny"))
APPROVALS = frozenset(("yes", "ok", "approve", "approved"))


@dataclass(frozen=True, slots=True)
class Wanted:
    """A start. `body` is the input of an agent; None: a tool, which takes `arguments`."""

    name: str
    arguments: Mapping[str, Any]
    body: Mapping[str, Any] | None = None

    @property
    def kind(self) -> str:
        return "tool" if self.body is None else "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A message's parts: the one object of its data, and its text."""

    data: Mapping[str, Any] | None
    text: str


def content_of(parts: Sequence[Mapping[str, Any]]) -> Content:
    """Read the parts of a message (JSON of the protocol).

    Raises:
        InvalidInputError: a part that is neither data nor text, several data parts, or data that is no object.
    """
    data = [plain(part["data"]) for part in parts if "data" in part]
    if any("data" not in part and "text" not in part for part in parts):
        raise InvalidInputError(Flaw("/message/parts", "only data and text are taken"))
    if len(data) > 1 or not all(isinstance(each, Mapping) for each in data):
        raise InvalidInputError(Flaw("/message/parts", "one data part, with an object"))
    text = "\n".join(str(part["text"]) for part in parts if "text" in part)
    return Content(data=data[0] if data else None, text=text)


def plain(value: Any) -> Any:
    """JSON out of protobuf, whose numbers are doubles: whole ones are integers again."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def wanted_of(content: Content, tools: Mapping[str, Resource], agents: Collection[str] = ()) -> Wanted:
    """What is to be started. What is the only one of its project need not be named.

    Raises:
        InvalidInputError: nothing is named and there are several, or members that nobody reads.
    """
    data = dict(content.data or {})
    is_only_agent = not data and not tools and len(agents) == 1
    if "agent" in data or is_only_agent:
        return _conversation(data.pop("agent", next(iter(agents), "")), data, content.text)
    return _call(data, content.text, tools, is_only=not agents or bool(data))


def _conversation(name: Any, rest: Mapping[str, Any], text: str) -> Wanted:
    at = "/message/parts"
    if not isinstance(name, str) or rest:
        raise InvalidInputError(Flaw(f"{at}/data", "an agent is named alone, by a text"))
    if not text.strip():
        raise InvalidInputError(Flaw(at, "say something to the agent, in a text part"))
    return Wanted(name, {}, {"mode": "agent", "messages": [{"role": "user", "content": text}]})


def _call(data: Mapping[str, Any], text: str, tools: Mapping[str, Resource], *, is_only: bool) -> Wanted:
    """A call of a tool; of the only one, its arguments are the data, and its only required text may be the text itself."""
    at = "/message/parts/data"
    if "tool" not in data and not (is_only and len(tools) == 1):
        raise InvalidInputError(Flaw(at, NAME_IT))
    name = data.get("tool", next(iter(tools), ""))
    if not isinstance(name, str):
        raise InvalidInputError(Flaw(f"{at}/tool", "must be a text"))
    if "tool" in data or "arguments" in data:
        if unknown := sorted(data.keys() - START_MEMBERS):
            raise InvalidInputError(Flaw(f"{at}/{unknown[0]}", "unknown member; known are tool and arguments"))
        arguments = data.get("arguments", {})
    else:
        arguments = data
    if not isinstance(arguments, Mapping):
        raise InvalidInputError(Flaw(f"{at}/arguments", "must be an object"))
    if text and not arguments and (place := _text_place(tools.get(name))) is not None:
        arguments = {place: text}
    return Wanted(name, arguments)


def _text_place(tool: Resource | None) -> str | None:
    """The input that a mere text is for: the only required one, if it takes a text."""
    schema: Mapping[str, Any] = {} if tool is None else tool.definition.get("inputSchema") or {}
    required = schema.get("required") or []
    if len(required) != 1:
        return None
    kind = (schema.get("properties") or {}).get(required[0], {})
    return str(required[0]) if isinstance(kind, Mapping) and kind.get("type", "string") == "string" else None


def answer_of(content: Content, question: Interaction) -> Answer:
    """The answer to a question: the members of an answer as data, or a text.

    Raises:
        InvalidInputError: neither.
    """
    data = content.data
    if data is not None:
        if not data or data.keys() - ANSWER_MEMBERS:
            raise InvalidInputError(Flaw("/message/parts/data", "an answer has decision, selectedOptionId or payload"))
        return Answer(
            decision=data.get("decision"),
            selected_option_id=data.get("selectedOptionId"),
            payload=data.get("payload"),
            has_payload="payload" in data,
        )
    text = content.text.strip()
    if text.lower() in REJECTIONS:
        return Answer(decision="reject")
    if question.kind not in DECIDED:
        return Answer(payload=content.text, has_payload=True)
    if text.lower() in APPROVALS:
        return Answer(decision="approve")
    raise InvalidInputError(Flaw("/message/parts", "say yes or no, or send the members of an answer as data"))
