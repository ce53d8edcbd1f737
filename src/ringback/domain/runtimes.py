"""What a runtime can do, as it is agreed at its attach, and which attach of it holds an attempt.

A runtime names its capabilities, the server keeps to those that both sides know, and whatever the other side does not know is
unsupported rather than an error: an older server and a newer runtime understand each other. The agreed set is named by its
content and never changes; an attempt freezes that name together with the connection and its epoch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ringback.domain.errors import Flaw
from ringback.domain.json_values import fingerprint

PROTOCOL_VERSIONS = (1,)
"""The versions of the runtime protocol that this release speaks, oldest first."""

CORE = (
    "checkpoint.load",
    "checkpoint.save",
    "config.read",
    "input.receive",
    "interaction.request",
    "kv.read",
    "kv.write",
    "output.publish",
    "secrets.read",
    "tool.call",
    "tracing",
)
PLATFORM = ("space.container", "space.directory", "space.worktree")
SURFACES = ("core", "platform")
LEVELS = ("native", "polyfilled", "unsupported")
UNSUPPORTED = "unsupported"
CAPABILITIES_MAX = 200
_NAME = re.compile(r"[a-z][a-z0-9]*([._-][a-z0-9]+){0,7}")


class Attachment(NamedTuple):
    """Which attach of a runtime an attempt belongs to; frozen on the attempt."""

    connection_id: str
    epoch: int
    capability_set: str | None


class Capability(NamedTuple):
    """One thing that a runtime does itself (`native`), has done for it (`polyfilled`), or does not do."""

    surface: str
    name: str
    level: str

    def shown(self) -> dict[str, str]:
        """The public descriptor."""
        return {"surface": self.surface, "name": self.name, "supportLevel": self.level}


def capability_flaws(offered: Sequence[Any]) -> Iterator[Flaw]:
    """Everything that is wrong with the descriptors of an attach. Unknown names and members are not."""
    if len(offered) > CAPABILITIES_MAX:
        yield Flaw("/capabilities", f"at most {CAPABILITIES_MAX}")
        return
    seen: set[tuple[str, str]] = set()
    for index, each in enumerate(offered):
        at = f"/capabilities/{index}"
        if each.get("surface") not in SURFACES:
            yield Flaw(f"{at}/surface", f"must be one of {', '.join(SURFACES)}")
        if each.get("supportLevel") not in LEVELS:
            yield Flaw(f"{at}/supportLevel", f"must be one of {', '.join(LEVELS)}")
        name = each.get("name")
        if not isinstance(name, str) or len(name) > 100 or not _NAME.fullmatch(name):
            yield Flaw(f"{at}/name", "must be lower-case words with . _ or - between them, at most 100 characters")
        elif (key := (str(each.get("surface")), name)) in seen:
            yield Flaw(f"{at}/name", "named twice")
        else:
            seen.add(key)


def negotiate(offered: Sequence[Mapping[str, Any]]) -> tuple[Capability, ...]:
    """The agreed set: every core name once, then what else was offered; sorted, so that equal sets have one name.

    What the server does not know is unsupported, whatever the runtime says.
    """
    levels = {("core", name): UNSUPPORTED for name in CORE}
    for each in offered:
        key = (each["surface"], each["name"])
        known = CORE if key[0] == "core" else PLATFORM
        levels[key] = each["supportLevel"] if key[1] in known else UNSUPPORTED
    return tuple(Capability(surface, name, level) for (surface, name), level in sorted(levels.items()))


def set_name_of(agreed: Sequence[Capability]) -> str:
    """The name of an agreed set: its content's digest."""
    return f"cap_{fingerprint([each.shown() for each in agreed])[:32]}"
