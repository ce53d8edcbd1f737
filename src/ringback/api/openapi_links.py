"""Links of the OpenAPI document: where the answer to one operation leads. What made a thing says what can be done with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ringback.api.routes import Endpoint

_PARAMETER = re.compile(r"\{(\w+)\}")
_BODY = "$response.body#/"
_PATH = "$request.path."
IDS: Mapping[str, Mapping[str, str]] = {
    "Run": {"run_id": f"{_BODY}runId"},
    "JobAccepted": {"job_id": f"{_BODY}job_id"},
    "CapabilityToken": {"run_id": f"{_PATH}run_id", "token_id": f"{_BODY}tokenId"},
    "Attached": {"session_id": f"{_BODY}sessionId"},
    "NewToken": {"token_id": f"{_BODY}tokenId"},
    "Grant": {"grant_id": f"{_BODY}grantId"},
    "Alias": {"alias": f"{_BODY}alias"},
    "Script": {"slug": f"{_PATH}slug", "name": f"{_BODY}name"},
}  # by the type of the answer: which path parameters it knows, and where it says them
_MAKING = ("POST", "PUT")


def links_from(
    endpoint: Endpoint, kind: Any, endpoints: Sequence[Endpoint], id_of: Callable[[Endpoint], str]
) -> dict[str, Any]:
    """The links of one answer, by the operation that each leads to.

    Args:
        kind: the type of the answer.
        id_of: the id of an operation.
    """
    known = IDS.get(getattr(kind, "__name__", ""), {})
    if endpoint.method not in _MAKING or not known:
        return {}
    found = {}
    for other in endpoints:
        wanted = set(_PARAMETER.findall(other.path))
        if other is not endpoint and wanted and wanted == wanted & set(known) and _is_about(other, wanted, known):
            name = id_of(other)
            found[name] = {"operationId": name, "parameters": {each: known[each] for each in sorted(wanted)}}
    return found


def _is_about(other: Endpoint, wanted: set[str], known: Mapping[str, str]) -> bool:
    """Whether the operation is about what was made, not only about what it belongs to; made-up names alone say nothing."""
    own = {each for each in known if known[each].startswith(_BODY)}
    is_same_noun = "name" not in wanted or "/scripts/" in other.path
    return bool(wanted & own) and is_same_noun
