"""From a tool's table to its policy: retries, time limits, concurrency, cancellation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ringback.toolfile.tables import DAY_S, Table

KEYS: Final = ("priority", "concurrency", "retry", "timeout", "cancel_grace", "retry_on_lost", "idempotent", "budget")
_RETRY: Final = ("attempts", "delay", "max_delay", "factor", "jitter")
_TIMEOUTS: Final = {"attempt": "attemptS", "queue": "queueS", "idle": "idleS", "total": "totalS"}
_BUDGET: Final = {"runs": 1_000_000, "depth": 64}
_KEY: Final = re.compile(r"[^\x00-\x20\x7f](?:[^\x00-\x1f\x7f]{0,198}[^\x00-\x20\x7f])?")
_KEY_RULE: Final = "a key of 1 to 200 characters"
ATTEMPTS_MAX: Final = 100


def read_policy(table: Table, name: str, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The policy of the tool `name`, in its public shape (camelCase, seconds); `defaults` are those of its runtime."""
    return {
        **defaults,
        "priority": table.whole("priority", 0, low=-1000, high=1000),
        **_concurrency(table, name),
        "retry": _retry(table),
        "timeouts": _timeouts(table),
        "cancelGraceS": table.seconds("cancel_grace", defaults.get("cancelGraceS", 5.0), low=0, high=DAY_S),
        "retryOnLost": table.flag("retry_on_lost")
        if "retry_on_lost" in table.data
        else bool(defaults.get("retryOnLost")),
        "idempotent": table.flag("idempotent"),
        **_budget(table),
    }


def _budget(table: Table) -> dict[str, Any]:
    """How much may come from a run; what is not bounded here, the server's own bounds do."""
    if "budget" not in table.data:
        return {}
    inner = table.inner("budget", "a table {runs, depth}")
    inner.refuse_unknown(_BUDGET)
    return {
        "budget": {key: inner.whole(key, 0, low=0, high=most) for key, most in _BUDGET.items() if key in inner.data}
    }


def _concurrency(table: Table, name: str) -> dict[str, Any]:
    value = table.data.get("concurrency")
    if value is None:
        return {}
    if isinstance(value, int) and not isinstance(value, bool):
        limit = table.whole("concurrency", 1, low=1, high=1000)
        return {"concurrencyKey": f"tool:{name}", "concurrencyLimit": limit}
    if isinstance(value, str):
        return {"concurrencyKey": table.matching("concurrency", "", _KEY, _KEY_RULE), "concurrencyLimit": 1}
    inner = table.inner("concurrency", "a number (of runs of this tool), a key shared by tools, or {key, limit}")
    inner.refuse_unknown(("key", "limit"))
    key = inner.matching("key", f"tool:{name}", _KEY, _KEY_RULE)
    return {"concurrencyKey": key, "concurrencyLimit": inner.whole("limit", 1, low=1, high=1000)}


def _retry(table: Table) -> dict[str, Any]:
    value = table.data.get("retry", {})
    if isinstance(value, int) and not isinstance(value, bool):
        attempts, inner = table.whole("retry", 1, low=1, high=ATTEMPTS_MAX), Table({}, table.path, table.findings)
    else:
        inner = table.inner("retry", "a number of attempts in all, or {attempts, delay, max_delay, factor, jitter}")
        inner.refuse_unknown(_RETRY)
        attempts = inner.whole("attempts", 1, low=1, high=ATTEMPTS_MAX)
    return {
        "attemptsMax": attempts,
        "delayS": inner.seconds("delay", 1.0, low=0),
        "delayMaxS": inner.seconds("max_delay", 300.0),
        "factor": inner.number("factor", 2.0, low=1, high=100),
        "jitterS": inner.seconds("jitter", None, low=0),
    }


def _timeouts(table: Table) -> dict[str, Any]:
    value = table.data.get("timeout")
    if isinstance(value, dict):
        inner = table.inner("timeout")
        inner.refuse_unknown(_TIMEOUTS)
        limits = {public: inner.seconds(key) for key, public in _TIMEOUTS.items()}
        return {public: limit for public, limit in limits.items() if limit is not None}
    attempt = table.seconds("timeout")
    return {} if attempt is None else {"attemptS": attempt}
