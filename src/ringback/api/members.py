"""Who may do what: members of a project, and users of the installation."""

from __future__ import annotations

from http import HTTPStatus

from ringback.api.access_shapes import Member, MemberList, MemberRequest, User, UserList, UserRequest
from ringback.api.call import Call
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.domain.roles import PlatformRole, Role
from ringback.views.access import member, user

_AT = "/v1/members/{user}"


async def listed(call: Call) -> Reply:
    """The project's members by name."""
    members = call.core.access.members(call.project.project_id)
    return reply_json({"items": [member(name, role) for name, role in members.items()]})


async def put(call: Call) -> Reply:
    """Make a user a member, or change the role. Only an owner makes owners; a project keeps at least one."""
    name, role = call.path["user"], Role((await call.read(MemberRequest)).role)
    await call.core.directory.set_role(call.principal, call.project, name, role)
    return reply_json(member(name, role))


async def remove(call: Call) -> Reply:
    """End a membership. The user's tokens open nothing here any more, at once."""
    await call.core.directory.set_role(call.principal, call.project, call.path["user"], None)
    return Reply(HTTPStatus.NO_CONTENT)


async def users(call: Call) -> Reply:
    """All users of the installation by name."""
    return reply_json({"items": [user(row) for row in await call.core.directory.users()]})


async def put_user(call: Call) -> Reply:
    """Let a user administer the installation, or no longer. A platform role gives no access to any project."""
    asked, name = await call.read(UserRequest), call.path["user"]
    role = None if asked.platform_role is None else PlatformRole(asked.platform_role)
    await call.core.directory.set_platform_role(call.principal, name, role)
    return reply_json(next(user(row) for row in await call.core.directory.users() if row["user_id"] == name))


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/members",
        scope="runs:read",
        handler=listed,
        summary="List a project's members",
        gives={200: MemberList},
    ),
    Endpoint(
        method="PUT",
        path=_AT,
        scope="access:admin",
        handler=put,
        summary="Add a member or change a role",
        takes=MemberRequest,
        gives={200: Member},
    ),
    Endpoint(
        method="DELETE",
        path=_AT,
        scope="access:admin",
        handler=remove,
        summary="Remove a member",
        gives={204: None},
    ),
    Endpoint(
        method="GET",
        path="/v1/users",
        scope="access:admin",
        has_project=False,
        is_platform=True,
        handler=users,
        summary="List users",
        gives={200: UserList},
    ),
    Endpoint(
        method="PUT",
        path="/v1/users/{user}",
        scope="access:admin",
        has_project=False,
        is_platform=True,
        handler=put_user,
        summary="Give or take a platform role",
        takes=UserRequest,
        gives={200: User},
    ),
]
