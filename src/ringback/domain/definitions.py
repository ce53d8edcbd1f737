"""What the definition of a resource must look like, wherever it comes from: a file, a decorated function or the API.

A definition is JSON in one public shape; its content is its identity, so the same text always makes the same revision. This
module checks shape and ranges and names every flaw by its JSON pointer; whether the input schema itself is valid JSON Schema
is asked of a library, outside the domain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from ringback.domain.errors import Flaw
from ringback.domain.json_values import fingerprint, flaws_of
from ringback.domain.profiles import profile_flaws, unknown_members

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
RUNTIMES: Mapping[str, tuple[str, ...]] = {
    "tool": ("command", "function", "script", "mcp", "http"),
    "agent": ("agent",),
    "mcp_server": ("mcp",),
}
MODES = ("job", "task", "inline")

Rule: TypeAlias = tuple[Any, float, float]  # type, least, most

_MEMBERS = frozenset(
    (
        "resourceType",
        "name",
        "description",
        "runtime",
        "inputSchema",
        "profile",
        "policy",
        "summary",
        "mode",
        "requiresIdempotencyKey",
    )
)
_POLICY: Mapping[str, Rule] = {
    "priority": (int, -1_000_000, 1_000_000),
    "concurrencyLimit": (int, 1, 1_000_000),
    "lostAttemptsMax": (int, 1, 1_000_000),
    "cancelGraceS": ((int, float), 0, 86_400),
}
_RETRY: Mapping[str, Rule] = {
    "attemptsMax": (int, 1, 1_000),
    "delayS": ((int, float), 0, 31_536_000),
    "delayMaxS": ((int, float), 0, 31_536_000),
    "factor": ((int, float), 1, 100),
    "jitterS": ((int, float), 0, 31_536_000),
}
_BUDGET: Mapping[str, Rule] = {"runs": (int, 0, 1_000_000), "depth": (int, 0, 64)}
_YEARS_S = 10 * 365 * 86_400
_TIMEOUTS: Mapping[str, Rule] = dict.fromkeys(
    ("attemptS", "queueS", "idleS", "totalS"), ((int, float), 0.001, _YEARS_S)
)


def revision_digest(definition: Mapping[str, Any]) -> str:
    """The identity of a definition's content."""
    return fingerprint(definition)


def type_of(definition: Mapping[str, Any]) -> str:
    """What kind of resource it defines; a tool unless it says otherwise."""
    return str(definition.get("resourceType", "tool"))


def need_of(definition: Mapping[str, Any]) -> str:
    """What a worker must offer to run it: its runtime, and for a function the function itself."""
    return f"function:{definition['name']}" if definition["runtime"] == "function" else str(definition["runtime"])


def definition_flaws(definition: Mapping[str, Any]) -> Iterator[Flaw]:
    """Everything that is wrong with `definition`, the schema and the command template apart."""
    yield from flaws_of(definition)
    yield from unknown_members(definition, _MEMBERS, "")
    name = definition.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield Flaw("/name", "must match [a-z][a-z0-9_]{0,63}")
    yield from _one_of(definition, "resourceType", tuple(RUNTIMES))
    yield from _one_of(definition, "runtime", RUNTIMES.get(type_of(definition), ()), is_required=True)
    yield from _one_of(definition, "mode", MODES)
    for member, kind in (("description", str), ("inputSchema", Mapping), ("requiresIdempotencyKey", bool)):
        if member in definition and not isinstance(definition[member], kind):
            yield Flaw(f"/{member}", f"must be {_WORDS[kind]}")
    yield from profile_flaws(definition.get("profile", {}), type_of(definition), definition.get("runtime"))
    yield from policy_flaws(definition.get("policy", {}))


_WORDS: Mapping[Any, str] = {str: "a string", Mapping: "an object", bool: "true or false"}


def policy_flaws(policy: Any) -> Iterator[Flaw]:
    """Everything that is wrong with a policy, by pointers below `/policy`."""
    if not isinstance(policy, Mapping):
        yield Flaw("/policy", "must be an object")
        return
    known = {*_POLICY, "concurrencyKey", "retry", "timeouts", "budget", "retryOnLost", "idempotent"}
    yield from unknown_members(policy, frozenset(known), "/policy")
    yield from _ranges(policy, _POLICY, "/policy")
    for flag in ("retryOnLost", "idempotent"):
        if not isinstance(policy.get(flag, False), bool):
            yield Flaw(f"/policy/{flag}", "must be true or false")
    key = policy.get("concurrencyKey")
    if key is not None and not (isinstance(key, str) and 1 <= len(key) <= 200):
        yield Flaw("/policy/concurrencyKey", "must be a string of 1 to 200 characters")
    for member, rules in (("retry", _RETRY), ("timeouts", _TIMEOUTS), ("budget", _BUDGET)):
        part = policy.get(member) or {}
        if not isinstance(part, Mapping):
            yield Flaw(f"/policy/{member}", "must be an object")
            continue
        yield from unknown_members(part, frozenset(rules), f"/policy/{member}")
        yield from _ranges(part, rules, f"/policy/{member}")


def _ranges(part: Mapping[str, Any], rules: Mapping[str, Rule], pointer: str) -> Iterator[Flaw]:
    for name, (kind, low, high) in rules.items():
        value = part.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, kind):
            yield Flaw(f"{pointer}/{name}", "must be a whole number" if kind is int else "must be a number")
        elif not low <= value <= high:
            yield Flaw(f"{pointer}/{name}", f"must lie between {low:g} and {high:g}")


def _one_of(
    part: Mapping[str, Any], member: str, allowed: tuple[str, ...], *, is_required: bool = False
) -> Iterator[Flaw]:
    if (member in part or is_required) and part.get(member) not in allowed:
        yield Flaw(f"/{member}", f"must be one of {', '.join(allowed)}")
