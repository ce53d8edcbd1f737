"""The worker's log on stderr: one JSON object a line, or readable lines on a terminal.

Written on the standard library alone: structlog costs an idle worker 4 MB and 0.2 s, because it imports rich where that
is installed. The members are the same as in the server's log. Whatever came from elsewhere is escaped, so that it can't
forge a line (O74); tokens are never given to a log.
"""

import datetime
import json
import logging
import sys
from typing import Any, Final

_OWN: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


def configure(level: str, form: str) -> None:
    """Send the log to stderr; `form` is `json`, `console`, or `auto` for console on a terminal."""
    handler = logging.StreamHandler(sys.stderr)
    is_console = form == "console" or (form == "auto" and sys.stderr.isatty())
    handler.setFormatter(LineFormatter() if is_console else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


class JsonFormatter(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        line: dict[str, Any] = {
            "timestamp": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class LineFormatter(logging.Formatter):
    """One readable line a record, with a traceback below where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC).astimezone()
        facts = "".join(f" {name}={json.dumps(fact, default=str)}" for name, fact in _facts(record).items())
        line = f"{moment:%H:%M:%S} {record.levelname.lower():7} {_escaped(record.getMessage())}{facts}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    return {name: fact for name, fact in record.__dict__.items() if name not in _OWN}


def _escaped(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
