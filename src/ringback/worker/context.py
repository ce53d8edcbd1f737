"""`Context`: what a tool knows about the attempt that it is, and what it can tell the platform while it runs.

One object for sync and async tools. Its methods are plain calls that cost a few microseconds; only the start of a
child and a question wait for an answer. In a sync tool every call raises `Cancelled` once a stop was
requested; in an async tool the next `await` raises `asyncio.CancelledError`. Deliberately absent: waiting for
children, which would hold a slot; let them ring back.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from .asking import Reply, question_of, reply_of, status_of
from .facilities import Values, told
from .jsonable import clean, to_json
from .signals import Cancelled
from .wire import PIECE_MAX, Checkpoint, Run

if TYPE_CHECKING:
    from .line import Line

_SUMMARY_MAX = 500


class Context:
    """The attempt, seen from inside."""

    __slots__ = ("_asked", "_last", "_line", "_run", "summary")

    def __init__(self, run: Run, line: "Line") -> None:
        self._run = run
        self._line = line
        self._asked = 0
        self._last: Any = msgspec.UNSET
        self.summary: str | None = None
        """One line for the message that the work is done; a string result is its own summary."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._run.run_id

    @property
    def job_id(self) -> str:
        """The run's id as the job interface spells it."""
        return self._run.job_id

    @property
    def attempt_no(self) -> int:
        """From 1."""
        return self._run.attempt_no

    @property
    def idempotency_token(self) -> str:
        """The same for every attempt of this run, different for every other run; pass it on to outside services."""
        return self._run.run_id

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as they came, before conversion; a new dict each time."""
        decoded: dict[str, Any] = msgspec.json.decode(self._run.arguments)
        return decoded

    @property
    def deadline(self) -> datetime | None:
        """When the attempt will be asked to stop for a time limit; None without one."""
        at_ms = self._run.deadline_ms
        return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)

    @property
    def cancelled(self) -> bool:
        """Whether the attempt was asked to stop. Never raises."""
        self._line.poll()
        return self._line.why is not None

    @property
    def cancel_reason(self) -> str | None:
        """`cancel`, `timeout:attempt`, `timeout:idle`, `timeout:deadline`, `drain` or None."""
        self._line.poll()
        return self._line.why

    def raise_if_cancelled(self) -> None:
        """Give a stop the chance to end the work here.

        Raises:
            Cancelled: the attempt was asked to stop.
        """
        if self.cancelled:
            raise Cancelled(self._line.why)

    def progress(self, done: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is; call it as often as you like, 100 a second are sent."""
        self._line.check()
        self._line.progress(done, total, message)

    def page(self, items: Any) -> None:
        """Deliver the next items of the result now, readable while the work goes on.

        Args:
            items: any iterable of values as in a result; one item has at most 1 MiB of JSON.
        """
        self._line.check()
        if batch := list(items):
            self._line.page(batch)

    def log(self, text: str) -> None:
        """Write a line to the output (stderr)."""
        self._line.check()
        self._line.log(clean(text, len(text)))

    def checkpoint(self, value: Any) -> None:
        """Keep a value (at most 1 MiB of JSON) from which a later attempt may go on; the last one counts."""
        self._line.check()
        self._line.send(Checkpoint(to_json(value, limit=PIECE_MAX)))
        self._last = value

    @property
    def last_checkpoint(self) -> Any:
        """What this attempt, or else an earlier one, kept last; None when there is nothing."""
        if self._last is msgspec.UNSET:
            self._last = msgspec.json.decode(self._run.checkpoint)
        return self._last

    def start(self, tool: str, /, **arguments: Any) -> str:
        """Start a run of another tool below this one; it's stopped with it. Waits until it is accepted.

        Returns:
            The child's id.

        Raises:
            ChildRefusedError: it was refused, and why.
        """
        self._line.check()
        return self._line.start(tool, arguments)

    def ask(
        self,
        title: str,
        /,
        *,
        kind: str = "approval",
        description: str | None = None,
        options: Sequence[str | Mapping[str, Any]] | None = None,
        schema: Mapping[str, Any] | None = None,
        blocking: bool = True,
        expires_in: float | None = None,
        on_expiry: str | None = None,
        default: Any = msgspec.UNSET,
        respondents: Sequence[str] | None = None,
        key: str | None = None,
        release: bool = False,
    ) -> Any:
        """Ask people something, and wait for the answer: `reply = await ctx.ask(...)`, in a sync tool without `await`.

        A later attempt that asks the same finds the answer that an earlier one got. While people think, the idle limit rests.

        Args:
            title: one line, at most 200 characters.
            kind: `approval`, `confirmation` (answered by a decision), `input`, `auth` (answered by a payload or an option).
            options: what can be chosen, texts or `{id, label}`.
            schema: JSON Schema (2020-12) of the payload.
            blocking: the run counts as waiting meanwhile; one such question at a time.
            expires_in: seconds; then `on_expiry` counts: `fail` (the default), `reject`, or `default`.
            default: the payload when nobody answers in time.
            respondents: project roles that may answer, each with those above it.
            key: what this question is known by within the run; else its title and how many were asked before it.
            release: give the slot back while people think: this attempt ends here, and when the question is over another one
                starts the tool anew, in which this call returns at once. What was done before it is done again: keep it with
                `checkpoint`. Such attempts count against no budget.

        Returns:
            A `Reply`.

        Raises:
            QuestionRefusedError: it can't be asked, and why.
            UnansweredError: nobody answered in time, or the question was withdrawn.
        """
        self._line.check()
        if release and not blocking:
            raise ValueError("release=True is for a question that blocks")
        self._asked += 1
        question = question_of(
            self._asked,
            title,
            kind=kind,
            description=description,
            options=options,
            schema=schema,
            blocking=blocking,
            expires_in=expires_in,
            on_expiry=on_expiry,
            default=default,
            respondents=respondents,
            key=key,
        )
        if self._line.is_async:
            return self._ask_async(question, parks=release)
        return reply_of(self._line.ask(question, parks=release))

    async def _ask_async(self, question: dict[str, Any], *, parks: bool) -> Reply:
        return reply_of(await self._line.ask_async(question, parks=parks))

    def withdraw(self, key: str, /) -> Any:
        """Take back what was asked under `key`: nobody can answer it any more, and who waits for it gets `UnansweredError`.

        `await ctx.withdraw(...)`, in a sync tool without `await`. An async tool that stops waiting (a cancelled task, a
        timeout of its own) takes its question back by that.

        Returns:
            Its status now: `withdrawn`, or how it had ended before; None when nothing was asked under the key.
        """
        self._line.check()
        if self._line.is_async:
            return self._withdraw_async(key)
        return status_of(self._line.withdraw(key))

    async def _withdraw_async(self, key: str) -> str | None:
        return status_of(await self._line.withdraw_async(key))

    @property
    def kv(self) -> Values:
        """Small values that the tool keeps across its runs: `await ctx.kv.read(key)`, in a sync tool without `await`."""
        return Values(self._line)

    def secret(self, name: str, /) -> str:
        """The value of a secret that the tool names in `secrets`; it is masked wherever the tool says it.

        Raises:
            CapabilityRefusedError: the tool does not name it, or its worker has none.
        """
        self._line.check()
        return str(told(self._line.use("secrets.read", {"name": name})))

    @property
    def config(self) -> dict[str, Any]:
        """The profile and the policy that were frozen when the run was created: `{"profile": …, "policy": …}`."""
        self._line.check()
        found: dict[str, Any] = told(self._line.use("config.read", {}))
        return found

    async def start_async(self, tool: str, /, **arguments: Any) -> str:
        """As `start`, for async tools: the event loop goes on meanwhile."""
        return await self._line.start_async(tool, arguments)
