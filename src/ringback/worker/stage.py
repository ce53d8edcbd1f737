"""Carries out one attempt after the other inside an interpreter, in its main thread.

Whatever a tool does, an attempt ends with exactly one `Done` or `Failed`: `sys.exit`, raising `__repr__`s and results
without a JSON form included. Before that is sent, the tool's output is flushed into its pipes, so that the worker finds
there all that belongs to the attempt.
"""

import inspect
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final

from .app import App, Tool
from .context import Context
from .failures import failed
from .jsonable import clean, to_json
from .line import Line
from .residue import Residue
from .signals import Cancelled
from .wire import Done, Failed, Run

if TYPE_CHECKING:
    from .async_stage import AsyncStage

_SUMMARY_MAX: Final = 500


class Stage:
    """An application, ready to be called."""

    def __init__(self, app: App, line: Line, residue: Residue, flush: Callable[[], None]) -> None:
        self._app = app
        self._line = line
        self._residue = residue
        self._flush = flush
        self._async: AsyncStage | None = None

    def carry_out(self, run: Run) -> Done | Failed:
        """Call the tool and say how that ended."""
        self._residue.begin()
        try:
            ending = self._called(run)
        except BaseException as error:  # noqa: BLE001 - the outermost line of an attempt
            ending = failed(error, why=self._line.why)
        ending = self._tidied(ending)
        self._flush()
        return ending

    def _called(self, run: Run) -> Done | Failed:
        if self._line.why is not None:
            raise Cancelled(self._line.why)
        tool = self._app.tools.get(run.tool)
        if tool is None:
            return Failed("tool_error", clean(f"this application has no tool {run.tool!r}", 500), retryable=False)
        arguments = tool.signature.arguments(run.arguments)
        context: Context | None = None
        if tool.signature.context_parameter is not None:
            context = arguments[tool.signature.context_parameter] = Context(run, self._line)
        result = self._result(tool, arguments)
        return Done(to_json(result), _summary(result, context))

    def _result(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        match tool.signature.shape:
            case "coroutine":
                return self._async_stage().run(tool.function(**arguments))
            case "async_generator":
                return self._async_stage().run_generator(tool.function(**arguments))
            case "generator":
                return self._deliver(tool.function(**arguments))
            case "plain":
                return self._plain(tool.function(**arguments))

    def _plain(self, result: Any) -> Any:
        """A decorator may hide what a function really is; its result doesn't."""
        if inspect.iscoroutine(result):
            return self._async_stage().run(result)
        if inspect.isgenerator(result):
            return self._deliver(result)
        if inspect.isasyncgen(result):
            return self._async_stage().run_generator(result)
        return result

    def _deliver(self, work: Generator[Any, Any, Any]) -> Any:
        """Each value that is yielded is a page item; the returned one is the result."""
        step: Callable[[], Any] = work.__next__
        is_told = False
        try:
            while True:
                item = step()
                self._line.page([item])
                self._line.poll()
                step = work.__next__
                if self._line.why is not None and not is_told:
                    is_told = True
                    step = lambda: work.throw(Cancelled(self._line.why))  # noqa: E731
        except StopIteration as end:
            return end.value
        finally:
            work.close()

    def _async_stage(self) -> "AsyncStage":
        if self._async is None:
            from .async_stage import AsyncStage

            self._async = AsyncStage(self._line)
        return self._async

    def _tidied(self, ending: Done | Failed) -> Done | Failed:
        residue = self._residue
        retire = "" if self._async is None else self._async.tidy(has_threads=residue.has_threads())
        forked = residue.has_forked()
        retire = residue.why_retire() or retire
        if not forked and not retire:
            return ending
        match ending:
            case Done():
                return Done(ending.result, ending.summary, forked, retire)
            case Failed(kind, message, detail, retryable, cancelled):
                return Failed(kind, message, detail, retryable, cancelled, forked, retire)


def _summary(result: Any, context: Context | None) -> str | None:
    """What the tool set; else the first line of a string result, or a result's member `summary`."""
    text = None if context is None else context.summary
    if text is None and isinstance(result, dict):
        text = result.get("summary")
    elif text is None:
        text = result
    if not isinstance(text, str) or not text.strip():
        return None
    return clean(text.strip().splitlines()[0], _SUMMARY_MAX)
