"""Users with roles, and tokens of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ringback.domain.roles import PlatformRole, Role
from ringback.services.access import SCOPES, new_token
from tests.api.door import TOKEN, Door


async def user(
    door: Door,
    name: str,
    roles: Mapping[str, str] | None = None,
    *,
    scopes: Iterable[str] = SCOPES,
    is_operator: bool = False,
) -> dict[str, str]:
    """The headers of a user with these roles (by the project's slug)."""
    core, token = door.core, new_token()
    installation = await core.access.authenticate(TOKEN)
    if is_operator or not roles:
        await core.directory.set_platform_role(installation, name, PlatformRole.ADMIN if is_operator else None)
    for slug, role in (roles or {}).items():
        project = core.access.authorize(installation, "access:admin", slug)
        await core.directory.set_role(installation, project, name, Role(role))
    await core.access.remember(token, owner=name, scopes=scopes, user_id=name)
    return {"authorization": f"Bearer {token}"}
