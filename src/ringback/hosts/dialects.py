"""What each host reads from a hook: the one place that knows their words.

A hook is told on stdin which moment it is (a prompt was sent, the turn is about to end) and answers in JSON. At a prompt, notices
are added to what the model reads. At the end of a turn they give it one more turn; only once in a row, because a host says when
it goes on for that reason already, and never for work that was cancelled: a stop by the user must not start anything.

Sources: the hosts' own hook references (Claude Code, Codex, VS Code, Gemini CLI, Cursor), read in November 2026; `docs/hosts.md`
says which of them were driven.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

CURSOR_FOLLOW_UPS_MAX = 3


class Moment(StrEnum):
    """When a hook is called, as far as it matters to notices."""

    PROMPT = "prompt"
    TURN_END = "turn_end"
    OTHER = "other"  # nothing can be told now


Told = Mapping[str, Any]
Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One host's hooks.

    Attributes:
        moments: names of events that can carry a text.
        event: the event's name, from what the hook was told.
        may_go_on: whether a turn that ends may be followed by another.
        answer: the JSON that carries `text` at this moment of this event.
    """

    moments: Mapping[str, Moment]
    may_go_on: Callable[[Told], bool]
    answer: Callable[[Moment, str, str], Answer]

    def moment_of(self, told: Told) -> Moment:
        """What can be told now. A hook that was told nothing counts as called at a prompt."""
        event = self.event_of(told)
        moment = self.moments.get(event, Moment.OTHER)
        return Moment.OTHER if moment is Moment.TURN_END and not self.may_go_on(told) else moment

    def event_of(self, told: Told) -> str:
        """The name of the event, in the host's spelling."""
        named = told.get("hook_event_name") or told.get("hookEventName")
        return str(named) if named else next(iter(self.moments))


def _is_first(told: Told) -> bool:
    return not told.get("stop_hook_active")


def _is_cursor_done(told: Told) -> bool:
    count = told.get("loop_count")
    return told.get("status") == "completed" and isinstance(count, int) and count < CURSOR_FOLLOW_UPS_MAX


def _context(event: str, text: str) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def _claude(moment: Moment, event: str, text: str) -> Answer:
    return _context(event, text) if moment is Moment.PROMPT else {"decision": "block", "reason": text}


def _vscode(moment: Moment, event: str, text: str) -> Answer:
    if moment is Moment.PROMPT:
        return _context(event, text)
    block = {"decision": "block", "reason": text}
    return block if event == "SubagentStop" else {"hookSpecificOutput": {"hookEventName": event, **block}}


def _gemini(moment: Moment, event: str, text: str) -> Answer:
    return _context(event, text) if moment is Moment.PROMPT else {"decision": "deny", "reason": text}


def _cursor(moment: Moment, event: str, text: str) -> Answer:
    return {"followup_message": text}


_AT_PROMPT = {"UserPromptSubmit": Moment.PROMPT, "SessionStart": Moment.PROMPT, "PostToolUse": Moment.PROMPT}
DIALECTS: Mapping[str, Dialect] = {
    "claude-code-hook": Dialect({**_AT_PROMPT, "Stop": Moment.TURN_END}, _is_first, _claude),
    "codex-hook": Dialect({**_AT_PROMPT, "Stop": Moment.TURN_END}, _is_first, _claude),
    "vscode-hook": Dialect(
        {"PostToolUse": Moment.PROMPT, "SessionStart": Moment.PROMPT, "Stop": Moment.TURN_END}, _is_first, _vscode
    ),
    "gemini-hook": Dialect(
        {"BeforeAgent": Moment.PROMPT, "SessionStart": Moment.PROMPT, "AfterAgent": Moment.TURN_END}, _is_first, _gemini
    ),
    "cursor-hook": Dialect({"stop": Moment.TURN_END}, _is_cursor_done, _cursor),
}
