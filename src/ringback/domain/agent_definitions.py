"""What the definition of an agent must look like: its model, what it may call, and for a scripted model its script."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ringback.domain.errors import Flaw
from ringback.domain.json_values import escape

MODELS = ("scripted",)
AGENT_MEMBERS = frozenset(("pool", "model", "instructions", "callables", "script"))
ALIAS = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
KINDS = ("tool", "agent", "mcp_server")
RELATIONS: Mapping[str, tuple[str, ...]] = {
    "tool": ("tool_subrun",),
    "agent": ("delegation", "handoff"),
    "mcp_server": ("mcp_session",),
}
CALLABLES_MAX = 128
STEPS_MAX = 1_000
_REF = frozenset(("alias", "resourceType", "name", "releaseChannel", "relation"))
_CALL = frozenset(("callable", "arguments"))


def agent_flaws(profile: Mapping[str, Any]) -> Iterator[Flaw]:
    """Everything that is wrong with an agent's profile."""
    if profile.get("model") not in MODELS:
        yield Flaw("/profile/model", f"must be one of {', '.join(MODELS)}")
    if not isinstance(profile.get("instructions", ""), str):
        yield Flaw("/profile/instructions", "must be a string")
    refs = profile.get("callables", [])
    if not isinstance(refs, list) or len(refs) > CALLABLES_MAX:
        yield Flaw("/profile/callables", f"must be a list of at most {CALLABLES_MAX}")
    else:
        yield from callable_flaws(refs, "/profile/callables")
    yield from _script_flaws(profile.get("script", []))


def callable_flaws(refs: list[Any], pointer: str) -> Iterator[Flaw]:
    """Everything that is wrong with a list of callables: each a tool's name, or an object that says more."""
    seen: set[str] = set()
    for index, given in enumerate(refs):
        at, ref = f"{pointer}/{index}", {"name": given} if isinstance(given, str) else given
        if not isinstance(ref, Mapping) or not isinstance(ref.get("name"), str) or not ref["name"]:
            yield Flaw(at, "must be a tool's name, or an object with a name")
            continue
        for member in ref:
            if member not in _REF:
                yield Flaw(f"{at}/{escape(str(member))}", f"unknown member; known are {', '.join(sorted(_REF))}")
        kind = ref.get("resourceType", "tool")
        if kind not in KINDS:
            yield Flaw(f"{at}/resourceType", f"must be one of {', '.join(KINDS)}")
        elif ref.get("relation", RELATIONS[kind][0]) not in RELATIONS[kind]:
            yield Flaw(f"{at}/relation", f"for a resource of type {kind} must be one of {', '.join(RELATIONS[kind])}")
        alias = ref.get("alias", ref["name"])
        if "alias" in ref and (not isinstance(alias, str) or not ALIAS.fullmatch(alias)):
            yield Flaw(f"{at}/alias", "must match [A-Za-z][A-Za-z0-9_-]{0,63}")
        if str(alias) in seen:
            yield Flaw(at, "is called by the same name as one before it")
        seen.add(str(alias))


def _script_flaws(script: Any) -> Iterator[Flaw]:
    if not isinstance(script, list) or len(script) > STEPS_MAX:
        yield Flaw("/profile/script", f"must be a list of at most {STEPS_MAX} steps")
        return
    for index, step in enumerate(script):
        at = f"/profile/script/{index}"
        if not isinstance(step, Mapping) or len(step) != 1 or next(iter(step)) not in ("say", "calls"):
            yield Flaw(at, "must be an object with one member, `say` or `calls`")
            continue
        if "say" in step and not isinstance(step["say"], str):
            yield Flaw(f"{at}/say", "must be a string")
        elif "calls" in step and not isinstance(step["calls"], list):
            yield Flaw(f"{at}/calls", "must be a list of calls")
        else:
            yield from _call_flaws(step.get("calls"), f"{at}/calls")


def _call_flaws(calls: list[Any] | None, pointer: str) -> Iterator[Flaw]:
    if calls == []:
        yield Flaw(pointer, "must have at least one call")
    for index, call in enumerate(calls or ()):
        at = f"{pointer}/{index}"
        if not isinstance(call, Mapping) or not isinstance(call.get("callable"), str):
            yield Flaw(at, "must be an object with the name of a callable in `callable`")
        elif call.keys() - _CALL:
            yield Flaw(at, "has only `callable` and `arguments`")
        elif not isinstance(call.get("arguments", {}), Mapping):
            yield Flaw(f"{at}/arguments", "must be an object")
