"""Where a tool's attempts run: `space`, in one word or as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ringback.domain.spaces import CONTAINER, DIRECTORY, TYPES, WORKTREE, space_flaws
from ringback.toolfile.tables import Table

# The file's key and the definition's member, by type.
_KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    DIRECTORY: {},
    WORKTREE: {"ref": "ref", "uncommitted": "uncommitted", "keep_on_failure": "keepOnFailure", "link": "link"},
    CONTAINER: {"image": "image", "network": "network", "engine": "engine"},
}
_FILE_KEY: Final = {member: key for keys in _KEYS.values() for key, member in keys.items()}


def read_space(table: Table) -> dict[str, Any] | None:
    """What the tool asks for; None for the folder as it is."""
    value = table.data.get("space", DIRECTORY)
    if isinstance(value, str):
        type_, inner = value, Table({}, (*table.path, "space"), table.findings)
    else:
        inner = table.inner("space", 'a word, "worktree" for example, or a table with a type')
        type_ = inner.choice("type", TYPES)
    if type_ not in TYPES:
        table.note("space", "one of " + ", ".join(f'"{word}"' for word in TYPES))
        return None
    keys = _KEYS[type_]
    inner.refuse_unknown(("type", *keys))
    space = {"type": type_, **{member: inner.data[key] for key, member in keys.items() if key in inner.data}}
    for flaw in space_flaws({"space": space}):
        member = flaw.pointer.removeprefix("/profile/space").strip("/")
        inner.note(_FILE_KEY.get(member, member), flaw.detail)
    return None if type_ == DIRECTORY else space
