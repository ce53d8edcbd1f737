"""Run spaces: the places in which attempts are carried out, how each of them lives, and what a profile may ask for.

A runtime has one space that all its attempts share, its machine and folders. A profile may ask for one of its own: a git worktree
or a container, made for one attempt and taken down after it. The life of such a space is a line with one way out:

    provisioning → ready → occupied → reclaiming → terminated

and `failed` from anywhere but the end. A space that is kept for people to look at goes back from occupied to ready.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ringback.domain.errors import Flaw
from ringback.domain.json_values import escape

DIRECTORY, WORKTREE, CONTAINER = "directory", "worktree", "container"
TYPES = (DIRECTORY, WORKTREE, CONTAINER)
ENGINES = ("docker", "podman")
KINDS = ("workspace", "instance", "slot", "invocation", "custom")
FOLLOWING: Mapping[str, frozenset[str]] = {
    "provisioning": frozenset({"ready", "reclaiming", "failed"}),
    "ready": frozenset({"occupied", "reclaiming", "failed"}),
    "occupied": frozenset({"ready", "reclaiming", "failed"}),
    "reclaiming": frozenset({"terminated", "failed"}),
    "terminated": frozenset(),
    "failed": frozenset(),
}
STATUSES = tuple(FOLLOWING)
FIRST = "provisioning"
LINKS_MAX = 100
SPACE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{7,63}")
_REF = re.compile(r"[A-Za-z0-9_@][\w./@{}^~+-]{0,199}")
_IMAGE = re.compile(r"[A-Za-z0-9][\w./:@+-]{0,254}")
_MEMBERS: Mapping[str, frozenset[str]] = {
    DIRECTORY: frozenset({"type"}),
    WORKTREE: frozenset({"type", "ref", "uncommitted", "keepOnFailure", "link"}),
    CONTAINER: frozenset({"type", "image", "network", "engine"}),
}
_FLAGS = ("uncommitted", "keepOnFailure", "network")


def can_follow(before: str, after: str) -> bool:
    """Whether a space may go from `before` to `after`; being told the same again is no step."""
    return before == after or after in FOLLOWING[before]


def shared_space_of(session_id: str) -> str:
    """The id of the space that the attempts of a session share."""
    return f"space_{session_id}"


def space_of(profile: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a sound profile asks for, in the long form."""
    asked = profile.get("space", DIRECTORY)
    return {"type": asked} if isinstance(asked, str) else asked


def space_flaws(profile: Mapping[str, Any]) -> Iterator[Flaw]:
    """Everything that is wrong with the space that a profile asks for."""
    if "space" not in profile:
        return
    asked = space_of(profile)
    if not isinstance(asked, Mapping) or asked.get("type") not in TYPES:
        yield Flaw("/profile/space", f"must be one of {', '.join(TYPES)}, or an object with such a type")
        return
    known = _MEMBERS[asked["type"]]
    for member in sorted(asked.keys() - known):
        yield Flaw(f"/profile/space/{escape(str(member))}", f"unknown member; known are {', '.join(sorted(known))}")
    for member in _FLAGS:
        if not isinstance(asked.get(member, False), bool):
            yield Flaw(f"/profile/space/{member}", "must be true or false")
    yield from _worktree_flaws(asked)
    if asked["type"] == CONTAINER:
        yield from _container_flaws(asked)


def _worktree_flaws(asked: Mapping[str, Any]) -> Iterator[Flaw]:
    ref = asked.get("ref")
    if ref is not None and not (isinstance(ref, str) and _REF.fullmatch(ref) and ".." not in ref):
        yield Flaw("/profile/space/ref", "must name a commit, a branch or a tag of the repository")
    if ref is not None and asked.get("uncommitted") is True:
        yield Flaw(
            "/profile/space/uncommitted", "uncommitted changes belong to what is checked out, not to another ref"
        )
    links = asked.get("link", [])
    if not isinstance(links, list) or len(links) > LINKS_MAX or not all(_is_inside(each) for each in links):
        yield Flaw("/profile/space/link", f"must be a list of at most {LINKS_MAX} paths inside the folder")


def _container_flaws(asked: Mapping[str, Any]) -> Iterator[Flaw]:
    image = asked.get("image")
    if not isinstance(image, str) or not _IMAGE.fullmatch(image):
        yield Flaw("/profile/space/image", "must name an image")
    if "engine" in asked and asked["engine"] not in ENGINES:
        yield Flaw("/profile/space/engine", f"must be one of {', '.join(ENGINES)}")


def _is_inside(path: Any) -> bool:
    if not isinstance(path, str) or not 1 <= len(path) <= 500 or path.startswith("/") or "\0" in path:
        return False
    return all(part not in ("", ".", "..", ".git") for part in path.split("/"))
