"""What scripts and their tests look like on the wire: request bodies, and answers for the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required, TypedDict

import msgspec

from ringback.services.scripts import MEMORY_DEFAULT_BYTES, TIMEOUT_DEFAULT_S

MEMORY_LEAST_BYTES = 128 << 20  # with less, no interpreter starts


class ScriptRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A script to keep. `main(args)` or `main(ctx, args)` in it is called, and returns the output."""

    source: str
    description: str = ""
    input_schema: dict[str, Any] | None = None
    timeout_seconds: float = TIMEOUT_DEFAULT_S
    memory_bytes: Annotated[int, msgspec.Meta(ge=MEMORY_LEAST_BYTES, le=1 << 46)] = MEMORY_DEFAULT_BYTES
    cpu_seconds: Annotated[int, msgspec.Meta(ge=1, le=1 << 31)] | None = None
    pool: str = "default"


class TestRunRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A test of a script. `args` null is `args` left out, which is `{}`."""

    __test__ = False

    args: dict[str, Any] | None = None
    detached: bool | None = False


class Script(TypedDict, total=False):
    name: Required[str]
    revision_id: Required[str]
    description: Required[str]
    input_schema: Required[dict[str, Any]]
    pool: Required[str]
    timeout_seconds: float
    memory_bytes: int
    cpu_seconds: int
    source: str


class ScriptList(TypedDict):
    items: list[Script]


class ScriptRevision(TypedDict):
    revision_id: str
    created_at: str
    current: bool


class ScriptRevisionList(TypedDict):
    items: list[ScriptRevision]


class DetachedRun(TypedDict):
    """A run that goes on; `Location` is where to read it."""

    run_id: str
    request_id: str
    status: Literal["queued"]


class EndpointRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What a path is to start: a tool or a script, by name."""

    target: str


class PublishedEndpoint(TypedDict):
    path: str
    target: str
    url: str
    published_by: str
    published_at: str


class PublishedEndpointList(TypedDict):
    items: list[PublishedEndpoint]


class AcceptedRequest(TypedDict):
    """A request that goes on without its caller; `token` reads the run at `Location`, and is shown once."""

    run_id: str
    request_id: str
    status: Literal["queued"]
    token: str
    expires_at: str


class CapabilityRequest(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """How long the token opens the run, in seconds; a day if not given."""

    expires_in_s: Annotated[int, msgspec.Meta(ge=1, le=30 * 86_400)] = 86_400


class AnswerLinkRequest(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """For whom a link is, as which role it answers (else the caller's own), and how long it is good, in seconds (else a day)."""

    label: str | None = None
    role: str | None = None
    expires_in_s: Annotated[int, msgspec.Meta(ge=1, le=30 * 86_400)] = 86_400


class AnswerLink(TypedDict, total=False):
    """A link to a question. `url` is shown once, when it is made."""

    linkId: Required[str]
    role: Required[str]
    expiresAt: Required[str]
    url: str
    label: str
    issuedBy: str
    createdAt: str
    usedAt: str
    revokedAt: str


class AnswerLinkList(TypedDict):
    items: list[AnswerLink]


class CapabilityToken(TypedDict, total=False):
    tokenId: Required[str]
    expiresAt: Required[str]
    token: str
    url: str
    issuedBy: str
    createdAt: str
    revokedAt: str


class CapabilityTokenList(TypedDict):
    items: list[CapabilityToken]
