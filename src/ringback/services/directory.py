"""Changes orgs, projects, users and roles. One change at a time: what is checked is still true when it is written.

Whoever grants must hold what is granted: an admin makes nobody an owner and changes no owner. A project keeps an owner as long as
it exists, so nobody can lock everyone out.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from ringback.domain.errors import AlreadyExistsError, Flaw, ForbiddenError, InvalidInputError, NotFoundError
from ringback.domain.ids import ProjectId
from ringback.domain.json_values import text_flaw
from ringback.domain.roles import SLUG, USER, PlatformRole, Role
from ringback.ports.clock import Ids
from ringback.ports.store import Desk, Row, Store
from ringback.services.access import Access, Principal, Project
from ringback.services.audit import Deed, record

NAME_MAX = 200


@dataclass(slots=True, kw_only=True)
class Directory:
    """Who belongs where. Callers have been authorized; what depends on *whom* they change is decided here."""

    store: Store
    ids: Ids
    access: Access
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def install_owner(self, user_id: str) -> None:
        """Make the user who owns the installation on its first start: platform admin, and owner of `default`."""
        async with self._turn:
            if any(row["user_id"] == user_id for row in await self.users()):
                return
            deed = Deed(actor=user_id, action="user.installed", subject=user_id, project_id=None, facts={})

            def work(desk: Desk) -> None:
                _insert_user(desk, user_id, PlatformRole.ADMIN)
                _put_member(desk, ProjectId("default"), user_id, Role.OWNER)
                record(desk, deed)
                desk.then(lambda: self.access.know_role(ProjectId("default"), user_id, Role.OWNER))
                desk.then(lambda: self.access.know_platform_role(user_id, PlatformRole.ADMIN))

            await self.store.commit(work)

    async def orgs(self, principal: Principal) -> list[Row]:
        """Those of the caller's projects; all, for who administers the installation."""
        rows = await self.store.reads.rows("orgs", {})
        own = {each.org_id for each in self.access.visible(principal)}
        return [row for row in rows if row["org_id"] in own or self.access.is_operator(principal)]

    async def add_org(self, principal: Principal, org_id: str, name: str | None) -> Row:
        """A new org.

        Raises:
            InvalidInputError: no name that an org may have.
            AlreadyExistsError: the name is taken.
        """
        _check(org_id, SLUG, "/orgId", "small letters, digits and hyphens, 63 at most")
        async with self._turn:
            if any(row["org_id"] == org_id for row in await self.store.reads.rows("orgs", {})):
                raise AlreadyExistsError("org", org_id)
            deed = Deed(actor=principal.owner, action="org.created", subject=org_id, project_id=None, facts={})

            def work(desk: Desk) -> Row:
                row = {"org_id": org_id, "name": _name(name) or org_id, "created_at": desk.now}
                desk.write("insert_org", row)
                record(desk, deed)
                return row

            return await self.store.commit(work)

    async def add_project(self, principal: Principal, slug: str, *, org_id: str, name: str | None) -> Project:
        """A new project. Who makes it becomes its owner.

        Raises:
            InvalidInputError: no slug, or no such org.
            AlreadyExistsError: the slug is taken.
        """
        _check(slug, SLUG, "/slug", "small letters, digits and hyphens, 63 at most")
        async with self._turn:
            if self.access.has_project(slug):
                raise AlreadyExistsError("project", slug)
            if all(row["org_id"] != org_id for row in await self.store.reads.rows("orgs", {})):
                raise InvalidInputError(Flaw("/orgId", "no such org"))
            project_id = ProjectId(self.ids.new())
            project = Project(project_id=project_id, org_id=org_id, slug=slug, name=_name(name) or slug)
            await self.store.commit(lambda desk: self._make_project(desk, principal, project))
            return project

    def _make_project(self, desk: Desk, principal: Principal, project: Project) -> None:
        project_id, user_id = project.project_id, principal.user_id
        values = {"project_id": project_id, "org_id": project.org_id, "slug": project.slug, "name": project.name}
        desk.write("insert_project", {**values, "created_at": desk.now})
        facts = {"slug": project.slug, "orgId": project.org_id}
        action, actor = "project.created", principal.owner
        record(desk, Deed(actor=actor, action=action, subject=project_id, project_id=project_id, facts=facts))
        record(desk, Deed(actor=actor, action=action, subject=project_id, project_id=None, facts=facts))
        desk.then(lambda: self.access.know_project(project))
        if user_id is not None:
            _put_member(desk, project_id, user_id, Role.OWNER)
            desk.then(lambda: self.access.know_role(project_id, user_id, Role.OWNER))

    async def set_role(self, principal: Principal, project: Project, user_id: str, role: Role | None) -> None:
        """Make a user a member, change the role, or with None end the membership.

        Raises:
            InvalidInputError: no name that a user may have, or the project would be left without an owner.
            ForbiddenError: an owner's role is given or taken by somebody who is none.
            NotFoundError: no such member to remove.
        """
        _check(user_id, USER, "/user", "small letters, digits and . _ @ -, 64 at most")
        async with self._turn:
            members = self.access.members(project.project_id)
            before = members.get(user_id)
            if role is None and before is None:
                raise NotFoundError("member", user_id)
            if Role.OWNER in (role, before) and self.access.role_in(principal, project.project_id) is not Role.OWNER:
                raise ForbiddenError("the role owner")
            if before is Role.OWNER is not role and list(members.values()).count(Role.OWNER) == 1:
                raise InvalidInputError(Flaw("/role", "a project keeps at least one owner"))
            if before is not role:
                await self.store.commit(lambda desk: self._change_role(desk, principal, project, user_id, before, role))

    def _change_role(
        self, desk: Desk, principal: Principal, project: Project, user_id: str, before: Role | None, role: Role | None
    ) -> None:
        project_id = project.project_id
        if role is None:
            desk.write("delete_membership", {"project_id": project_id, "user_id": user_id})
        else:
            _insert_user(desk, user_id, None)
            _put_member(desk, project_id, user_id, role)
        action = "member.removed" if role is None else "member.changed" if before else "member.added"
        facts = {"from": before, "to": role}
        record(desk, Deed(actor=principal.owner, action=action, subject=user_id, project_id=project_id, facts=facts))
        desk.then(lambda: self.access.know_role(project_id, user_id, role))

    async def users(self) -> list[Row]:
        """Everybody `{user_id, platform_role, created_at}`, by name."""
        return await self.store.reads.rows("users", {})

    async def set_platform_role(self, principal: Principal, user_id: str, role: PlatformRole | None) -> None:
        """Let a user administer the installation, or no longer. It makes nobody a member of a project.

        Raises:
            InvalidInputError: no name that a user may have, or nobody would be left.
        """
        _check(user_id, USER, "/user", "small letters, digits and . _ @ -, 64 at most")
        async with self._turn:
            admins = {row["user_id"] for row in await self.users() if row["platform_role"] is not None}
            if role is None and admins == {user_id}:
                raise InvalidInputError(Flaw("/platformRole", "an installation keeps at least one administrator"))
            facts = {"to": role}
            deed = Deed(actor=principal.owner, action="user.changed", subject=user_id, project_id=None, facts=facts)

            def work(desk: Desk) -> None:
                _insert_user(desk, user_id, role)
                desk.write("set_platform_role", {"user_id": user_id, "platform_role": role})
                record(desk, deed)
                desk.then(lambda: self.access.know_platform_role(user_id, role))

            await self.store.commit(work)


def _insert_user(desk: Desk, user_id: str, role: PlatformRole | None) -> None:
    desk.write("insert_user", {"user_id": user_id, "platform_role": role, "created_at": desk.now})


def _put_member(desk: Desk, project_id: ProjectId, user_id: str, role: Role) -> None:
    desk.write("put_membership", {"project_id": project_id, "user_id": user_id, "role": role, "since": desk.now})


def _check(text: str, pattern: re.Pattern[str], pointer: str, wanted: str) -> None:
    if not pattern.fullmatch(text):
        raise InvalidInputError(Flaw(pointer, f"must be {wanted}"))


def _name(text: str | None) -> str | None:
    flaw = (
        None
        if text is None
        else text_flaw(text) or (f"has more than {NAME_MAX} characters" if len(text) > NAME_MAX else None)
    )
    if flaw is not None:
        raise InvalidInputError(Flaw("/name", flaw))
    return text
