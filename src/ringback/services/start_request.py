"""What a caller asks for when it starts a run, the same from every door, and what may be asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ringback.domain.definitions import policy_flaws
from ringback.domain.errors import DependencyError, Flaw, InvalidInputError
from ringback.domain.ids import RunId, run_id_of
from ringback.domain.json_values import fingerprint, flaws_of
from ringback.domain.moments import parse_moment

DEPENDS_ON_MAX = 100
TAGS_MAX = 50
TEXT_MAX = 200
SECONDS_MAX = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """What a caller asks for, the same from every door.

    Attributes:
        arguments_pointer: where the arguments stand in the caller's document, for error pointers.
        timeout_s: limit of one attempt, in seconds; None leaves the tool's own.
        total_timeout_s: limit of the whole run, queue time included.
        not_before: RFC 3339 text.
        run_on: "success", or "always" to start even when an upstream run did not succeed.
        rerun_of: the run that this one does again.
        follow_up_of: the run that this one goes on from.
        tool: the name of the resource, whatever its kind, or an alias; empty where `revision_id` says all.
        kind: tool, agent or mcp_server.
        channel: the release channel; None is the stable one, or the alias's own.
        body: the input of an agent or of a hosted MCP session; None: of a tool, whose input is its `arguments`.
    """

    tool: str
    arguments: Mapping[str, Any]
    kind: str = "tool"
    channel: str | None = None
    revision_id: str | None = None
    body: Mapping[str, Any] | None = None
    follow_up_of: str | None = None
    arguments_pointer: str = "/arguments"
    idempotency_key: str | None = None
    depends_on: tuple[str, ...] = ()
    run_on: str = "success"
    timeout_s: float | None = None
    total_timeout_s: float | None = None
    not_before: str | None = None
    priority: int | None = None
    thread_id: str | None = None
    context_id: str | None = None
    tags: tuple[str, ...] = ()
    caller_context: Mapping[str, Any] | None = None
    traceparent: str | None = None
    source: str = "api"
    rerun_of: RunId | None = None

    @property
    def wants_notice(self) -> bool:
        """Whether the caller hears of the run without asking: those who can't keep a connection open, and threads."""
        return self.source in ("mcp", "cli") or self.thread_id is not None

    def fingerprint(self) -> str:
        """What makes two requests the same: all that was sent, but for the key and the trace."""
        sent = {
            "tool": self.tool,
            "arguments": self.arguments,
            "depends_on": sorted(set(self.depends_on)),
            "run_on": self.run_on,
            "timeout_s": self.timeout_s,
            "total_timeout_s": self.total_timeout_s,
            "not_before": self.not_before,
            "priority": self.priority,
            "thread_id": self.thread_id,
            "context_id": self.context_id,
            "tags": self.tags,
            "caller_context": self.caller_context,
            "rerun_of": self.rerun_of,
            "kind": None if self.kind == "tool" else self.kind,
            "channel": self.channel,
            "revision_id": self.revision_id,
            "body": self.body,
            "follow_up_of": self.follow_up_of,
        }
        return fingerprint({name: value for name, value in sent.items() if value not in (None, (), [])})

    def check(self) -> None:
        """Refuse what no tool takes; the arguments themselves are checked by the tool.

        Raises:
            InvalidInputError: names each flaw by its JSON pointer.
        """
        flaws = list(flaws_of(self.arguments, self.arguments_pointer))
        if self.body is not None:
            flaws.extend(flaws_of(self.body, "/input"))
        if self.is_more_than_arguments:
            flaws.extend(_text_flaws(self))
            flaws.extend(_option_flaws(self))
        if flaws:
            raise InvalidInputError(*flaws)

    @property
    def is_more_than_arguments(self) -> bool:
        """Whether anything is asked for beside the arguments; most requests ask for nothing."""
        options = (self.depends_on, self.tags, self.thread_id, self.context_id, self.traceparent, self.not_before)
        limits = (self.timeout_s, self.total_timeout_s, self.priority, self.caller_context)
        return any(options) or self.run_on != "success" or any(each is not None for each in limits) or "" in options

    def upstream(self) -> tuple[RunId, ...]:
        """The upstream runs, each once. A malformed id is as unknown as a foreign one.

        Raises:
            DependencyError: no spelling of a run.
        """
        found: dict[RunId, None] = {}
        for index, text in enumerate(self.depends_on):
            run_id = run_id_of(text)
            if run_id is None:
                raise DependencyError(Flaw(f"/depends_on/{index}", "no such run"))
            found[run_id] = None
        return tuple(found)


def _text_flaws(request: StartRequest) -> Iterator[Flaw]:
    yield from flaws_of(request.caller_context, "/callerContext")
    if len(request.tags) > TAGS_MAX or any(not 1 <= len(tag) <= TEXT_MAX for tag in request.tags):
        yield Flaw("/tags", f"at most {TAGS_MAX} tags of 1 to {TEXT_MAX} characters")
    texts = {"/thread_id": request.thread_id, "/context_id": request.context_id, "/traceparent": request.traceparent}
    texts |= {f"/tags/{index}": tag for index, tag in enumerate(request.tags)}
    for pointer, text in texts.items():
        if text is not None and not 1 <= len(text) <= TEXT_MAX:
            yield Flaw(pointer, f"must have 1 to {TEXT_MAX} characters")
        yield from flaws_of(text, pointer)


def _option_flaws(request: StartRequest) -> Iterator[Flaw]:
    if len(request.depends_on) > DEPENDS_ON_MAX:
        yield Flaw("/depends_on", f"at most {DEPENDS_ON_MAX} runs")
    if request.run_on not in ("success", "always"):
        yield Flaw("/run_on", "must be success or always")
    limits = {"/timeout_seconds": request.timeout_s, "/total_timeout_seconds": request.total_timeout_s}
    for pointer, seconds in limits.items():
        if seconds is not None and not 0.001 <= seconds <= SECONDS_MAX:
            yield Flaw(pointer, f"must lie between 0.001 and {SECONDS_MAX}")
    if request.priority is not None:
        yield from (Flaw("/priority", flaw.detail) for flaw in policy_flaws({"priority": request.priority}))
    if request.not_before is not None:
        try:
            parse_moment(request.not_before)
        except ValueError as error:
            yield Flaw("/not_before", str(error))
