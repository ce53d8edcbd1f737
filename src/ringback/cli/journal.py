"""Structured logs on stderr: readable on a terminal, one JSON object a line everywhere else.

Control characters in what callers wrote are escaped, so nobody can write a line of the log but us.
"""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

from ringback.cli.terminal import plain
from ringback.settings.terminal import wants_colours

Format = Literal["auto", "console", "json"]
NOISY = ("httpx2", "httpcore2", "uvicorn.access", "uvicorn.error")


def configure(level: str, form: Format) -> None:
    """Route structlog and the standard library's logging to stderr."""
    is_console = form == "console" or (form == "auto" and sys.stderr.isatty())
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=not is_console),
    ]
    last: list[structlog.types.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if is_console:
        last += [_on_one_line, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty() and wants_colours())]
    else:
        last += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=last))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(root.level),
        cache_logger_on_first_use=True,
    )


def _on_one_line(_: object, __: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {
        name: plain(value) if isinstance(value, str) and name != "exception" else value for name, value in entry.items()
    }
