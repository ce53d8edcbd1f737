"""What answers about the catalogue look like, for the OpenAPI document. See `shapes`."""

from __future__ import annotations

from typing import Any, Literal, Required, TypedDict

ResourceType = Literal["tool", "agent", "mcp_server"]


class Resource(TypedDict):
    resourceId: str
    resourceType: ResourceType
    name: str
    createdAt: str
    released: dict[str, str]


class ResourceList(TypedDict):
    items: list[Resource]


class Channel(TypedDict, total=False):
    """Without `revisionId` it points nowhere."""

    channel: Required[str]
    version: Required[int]
    switchedAt: Required[str]
    revisionId: str


class ResourceInFull(TypedDict, total=False):
    resourceId: Required[str]
    resourceType: Required[ResourceType]
    name: Required[str]
    channels: Required[list[Channel]]
    definition: dict[str, Any]


class ChannelList(TypedDict):
    items: list[Channel]


Switch = TypedDict(
    "Switch",
    {"at": Required[str], "actor": Required[str], "action": Required[str], "from": str, "to": str},
    total=False,
)


class SwitchList(TypedDict):
    items: list[Switch]


class Revision(TypedDict):
    revisionId: str
    resourceId: str
    resourceType: ResourceType
    definition: dict[str, Any]


class RevisionInList(TypedDict):
    revisionId: str
    createdAt: str
    channels: list[str]


class RevisionList(TypedDict):
    items: list[RevisionInList]


class Alias(TypedDict, total=False):
    alias: Required[str]
    resourceType: Required[ResourceType]
    name: Required[str]
    releaseChannel: str
    grantId: str
    createdBy: str


class AliasList(TypedDict):
    items: list[Alias]


class Grant(TypedDict, total=False):
    grantId: Required[str]
    resourceType: Required[ResourceType]
    name: Required[str]
    releaseChannel: Required[str]
    providerProjectId: Required[str]
    granteeProjectId: Required[str]
    visibilityScopes: Required[list[str]]
    createdAt: Required[str]
    createdBy: Required[str]
    expiresAt: str
    revokedAt: str


class GrantList(TypedDict):
    given: list[Grant]
    received: list[Grant]
