"""What a role allows in a project. A request needs its scope twice: from the token, and from the role of the token's user.

Roles are ordered: each allows what those before it do. A platform role is none of them: who administers the installation is a
member of no project by that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

SCOPES = frozenset(
    (
        "runs:read",
        "runs:write",
        "interactions:answer",
        "resources:write",
        "threads:write",
        "access:admin",
        "worker:attach",
    )
)
SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
USER = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")


class Role(StrEnum):
    """A member's role in a project, the least first."""

    VIEWER = "viewer"
    RUNNER = "runner"
    EDITOR = "editor"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """0 for the least."""
        return tuple(Role).index(self)


class PlatformRole(StrEnum):
    """What a user may do about the installation itself."""

    ADMIN = "admin"


_VIEWER = frozenset({"runs:read"})
_RUNNER = _VIEWER | {"runs:write", "interactions:answer", "threads:write"}
_EDITOR = _RUNNER | {"resources:write"}
SCOPES_OF: Mapping[Role, frozenset[str]] = {
    Role.VIEWER: _VIEWER,
    Role.RUNNER: _RUNNER,
    Role.EDITOR: _EDITOR,
    Role.ADMIN: _EDITOR | {"access:admin"},
    Role.OWNER: SCOPES,
}
