"""Commands about the catalogue: resources, revisions, release, rollback."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from ringback.cli.arguments import ArgumentError
from ringback.cli.completion import tool_names
from ringback.cli.moments import relative
from ringback.cli.session import Session, connected
from ringback.cli.terminal import plain

KINDS = ("tool", "agent", "mcp_server")
SHOWN_DIGITS = 12
NOWHERE = "nothing"

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The resource's name.", autocompletion=tool_names)]
TypeOption = Annotated[str, typer.Option("--type", metavar="TYPE", help="tool, agent or mcp_server.")]
ChannelOption = Annotated[str, typer.Option("--channel", metavar="NAME", help="The release channel.")]


@connected()
def resources(
    session: Session,
    kind: Annotated[str | None, typer.Option("--type", metavar="TYPE", help="Only tool, agent or mcp_server.")] = None,
) -> None:
    """List the resources of every kind, and what their channels point to."""
    found = session.client.resources.list(kind)
    if session.out.json_mode:
        session.out.document({"resources": list(found)})
    elif not found:
        session.out.note("No resources yet. Write a ringback.toml with `ringback init`, then `ringback apply`.")
    else:
        rows = [(str(each["resourceType"]), str(each["name"]), _released(each)) for each in found]
        session.out.table(("TYPE", "NAME", "RELEASED"), rows)


def _released(each: Mapping[str, Any]) -> str:
    pointing = {name: short(str(revision)) for name, revision in (each.get("released") or {}).items()}
    return ", ".join(f"{name} {revision}" for name, revision in pointing.items()) or NOWHERE


@connected()
def revisions(session: Session, name: NameArgument, kind: TypeOption = "tool") -> None:
    """List a resource's revisions, newest first, and the channels that point to them."""
    found = session.client.resources.revisions(name, kind=known(kind))
    if session.out.json_mode:
        session.out.document({"revisions": list(found)})
        return
    now = datetime.now(UTC)
    rows = [
        (
            short(str(each["revisionId"])),
            relative(datetime.fromisoformat(str(each["createdAt"])), now),
            ", ".join(map(str, each["channels"])),
        )
        for each in found
    ]
    session.out.table(("REVISION", "CREATED", "CHANNELS"), rows)


@connected()
def release(
    session: Session,
    name: NameArgument,
    revision: Annotated[
        str, typer.Argument(metavar="REVISION", help="As `ringback revisions` shows it; `nothing` takes it back.")
    ],
    channel: ChannelOption = "stable",
    kind: TypeOption = "tool",
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="REV", help="Only if the channel points to this one now.")
    ] = None,
) -> None:
    """Point a release channel at a revision. Jobs that exist keep theirs."""
    held = session.client.resources
    before = _pointing(session, name, kind, channel)
    after = None if revision == NOWHERE else _whole(session, name, kind, revision)
    expected = None if expect is None else _whole(session, name, kind, expect)
    _tell(session, name, before, held.switch(name, after, channel=channel, kind=kind, expected=expected))


@connected()
def rollback(
    session: Session, name: NameArgument, channel: ChannelOption = "stable", kind: TypeOption = "tool"
) -> None:
    """Take back a release channel's last switch."""
    before = _pointing(session, name, kind, channel)
    _tell(session, name, before, session.client.resources.rollback(name, channel=channel, kind=kind))


def _pointing(session: Session, name: str, kind: str, channel: str) -> str | None:
    found = session.client.resources.channels(name, kind=known(kind))
    return next((each.get("revisionId") for each in found if each["channel"] == channel), None)


def _tell(session: Session, name: str, before: str | None, now: Mapping[str, Any]) -> None:
    if session.out.json_mode:
        session.out.document({"before": before, **now})
        return
    was, is_now = short(before), short(now.get("revisionId"))
    session.out.line(f"{plain(name)}: {plain(now['channel'])} {was} → {is_now}" + (" (as before)" * (was == is_now)))


def short(revision: str | None) -> str:
    """The beginning of a revision's digest, which is enough to name it."""
    return NOWHERE if revision is None else plain(revision.rpartition("@")[2][:SHOWN_DIGITS])


def known(kind: str) -> str:
    """The kind, if it is one.

    Raises:
        ArgumentError: it is none.
    """
    if kind not in KINDS:
        raise ArgumentError(f"--type {kind!r} is none of {', '.join(KINDS)}")
    return kind


def _whole(session: Session, name: str, kind: str, given: str) -> str:
    """The id of the revision whose digest begins as given.

    Raises:
        ArgumentError: there is none, or more than one.
    """
    found = [str(each["revisionId"]) for each in session.client.resources.revisions(name, kind=known(kind))]
    digest = given.rpartition("@")[2]
    fitting = [each for each in found if each == given or (digest and each.rpartition("@")[2].startswith(digest))]
    if len(fitting) != 1:
        why = "begins more than one revision" if fitting else "is no revision"
        raise ArgumentError(f"{given!r} {why} of {name}: ringback revisions {name} lists them")
    return fitting[0]
