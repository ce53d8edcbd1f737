"""What an agent may call, found once and frozen on its run: a channel that is switched later changes no agent that runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ringback.domain.agent_definitions import RELATIONS, callable_flaws
from ringback.domain.errors import Flaw, InvalidInputError, NotFoundError
from ringback.domain.ids import ProjectId
from ringback.services.callables import Callables
from ringback.services.start_request import StartRequest

Frozen = dict[str, Any]


async def frozen_callables(
    callables: Callables, project_id: ProjectId, caller: ProjectId, profile: Mapping[str, Any], given: Mapping[str, Any]
) -> list[Frozen]:
    """Each callable by the name that the agent calls it by, with the revision that it stands for.

    Args:
        project_id: whose agent it is; what its definition names is looked for there.
        caller: whose request it is; what the input names is looked for there.

    Raises:
        InvalidInputError: something is not there, or two are called by the same name.
    """
    found: dict[str, Frozen] = {}
    flaws: list[Flaw] = []
    if project_id != caller and (given.get("callableAliases") or given.get("additionalCallableRefs")):
        raise InvalidInputError(Flaw("/input", "an agent of another project takes no callables from its caller"))
    for owner, ref, pointer in _refs(project_id, caller, profile, given):
        flaws.extend(callable_flaws([ref], pointer))
        if flaws:
            continue
        try:
            one = await _frozen(callables, owner, ref)
        except NotFoundError as error:
            flaws.append(Flaw(pointer, str(error)))
            continue
        if one["alias"] in found:
            flaws.append(Flaw(pointer, "is called by the same name as one before it"))
        found[one["alias"]] = one
    ephemeral = given.get("ephemeralTools", [])
    flaws += [
        Flaw(f"/input/ephemeralTools/{index}/name", "is called by the same name as something else")
        for index, tool in enumerate(ephemeral)
        if tool["name"] in found or tool["name"] in [other["name"] for other in ephemeral[:index]]
    ]
    if flaws:
        raise InvalidInputError(*flaws)
    return list(found.values())


def _refs(
    project_id: ProjectId, caller: ProjectId, profile: Mapping[str, Any], given: Mapping[str, Any]
) -> Iterator[tuple[ProjectId, Mapping[str, Any], str]]:
    for ref in profile.get("callables", []):
        yield project_id, {"name": ref} if isinstance(ref, str) else ref, "/resourceId"
    for index, alias in enumerate(given.get("callableAliases", [])):
        yield caller, {"name": alias}, f"/input/callableAliases/{index}"
    for index, ref in enumerate(given.get("additionalCallableRefs", [])):
        renamed = {"name": ref["resourceId"], "resourceType": ref["resourceType"]}
        renamed |= {name: ref[name] for name in ("alias", "releaseChannel") if name in ref}
        yield caller, renamed, f"/input/additionalCallableRefs/{index}"


async def _frozen(callables: Callables, project_id: ProjectId, ref: Mapping[str, Any]) -> Frozen:
    kind = ref.get("resourceType") or await _kind_of(callables, project_id, ref["name"])
    name = str(ref["name"]).removeprefix(f"{kind}:{project_id}:")
    request = StartRequest(tool=name, kind=kind, arguments={}, channel=ref.get("releaseChannel"))
    target = await callables.find(project_id, request)
    resource = target.resource
    frozen: Frozen = {
        "alias": ref.get("alias", resource.name if target.grant is not None else name),
        "resourceType": kind,
        "name": name,
        "resourceId": resource.resource_id,
        "resourceRevisionId": resource.revision_id,
        "relation": ref.get("relation", RELATIONS[kind][0]),
        "description": resource.definition.get("description", ""),
        "inputSchema": resource.definition.get("inputSchema", {"type": "object"}),
    }
    return frozen if target.grant is None else {**frozen, "grantId": target.grant.grant_id}


async def _kind_of(callables: Callables, project_id: ProjectId, name: str) -> str:
    """A bare name is an alias, else a tool."""
    alias = (await callables.aliases(project_id)).get(name)
    return "tool" if alias is None else alias.kind
