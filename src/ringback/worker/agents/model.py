"""What a model is to the loop: messages in, an answer or calls out. And the scripted one, which needs no key and no network.

A model keeps nothing: all that it knows stands in the messages, so an attempt that goes on where a lost one stopped asks
the same and is answered the same.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

Message = dict[str, Any]
LAST: Final = "{last}"


@dataclass(frozen=True, slots=True)
class Call:
    """The model wants something called."""

    callable: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answers: text, which is its last word, or calls, after which it is asked again."""

    text: str | None = None
    calls: tuple[Call, ...] = ()


class Model(Protocol):
    """A language model."""

    async def reply(self, messages: Sequence[Message]) -> Reply:
        """The answer to the conversation so far."""
        ...


class ScriptedModel:
    """Says and calls what its script tells, one step each time that it is asked.

    A step is `{"say": text}` or `{"calls": [{"callable": name, "arguments": {…}}, …]}`. In a text `{last}` stands for the
    results of the calls before it. Behind its last step the model says "done".
    """

    def __init__(self, script: Sequence[Mapping[str, Any]]) -> None:
        self._script = script

    async def reply(self, messages: Sequence[Message]) -> Reply:
        """See `Model`."""
        step = sum(message["role"] == "assistant" and "scripted" in message for message in messages)
        if step >= len(self._script):
            return Reply(text="done")
        chosen = self._script[step]
        if "say" in chosen:
            return Reply(text=str(chosen["say"]).replace(LAST, _last_results(messages)))
        return Reply(calls=tuple(Call(each["callable"], each.get("arguments", {})) for each in chosen["calls"]))


def _last_results(messages: Sequence[Message]) -> str:
    found: list[Any] = []
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        found.insert(0, message["content"])
    return json.dumps(found, ensure_ascii=False)
