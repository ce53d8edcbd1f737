"""Orgs and projects: making one takes a platform role, seeing one takes a role in it."""

from __future__ import annotations

from http import HTTPStatus

from ringback.api.access_shapes import Org, OrgList, OrgRequest, Project, ProjectList, ProjectRequest
from ringback.api.call import Call
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.views.access import org, project


async def orgs(call: Call) -> Reply:
    """The orgs of the caller's projects; all of them, for who administers the installation."""
    return reply_json({"items": [org(each) for each in await call.core.directory.orgs(call.principal)]})


async def make_org(call: Call) -> Reply:
    """A new org; 409 `already_exists` when the name is taken."""
    asked = await call.read(OrgRequest)
    return reply_json(
        org(await call.core.directory.add_org(call.principal, asked.org_id, asked.name)), HTTPStatus.CREATED
    )


async def listed(call: Call) -> Reply:
    """The projects that the caller may name."""
    return reply_json({"items": [project(each) for each in call.core.access.visible(call.principal)]})


async def make(call: Call) -> Reply:
    """A new project, with its maker as owner; 409 `already_exists` when the slug is taken."""
    asked = await call.read(ProjectRequest)
    made = await call.core.directory.add_project(call.principal, asked.slug, org_id=asked.org_id, name=asked.name)
    return reply_json(project(made), HTTPStatus.CREATED, {"location": f"/v1/projects/{made.slug}"})


async def show(call: Call) -> Reply:
    """One project."""
    return reply_json(project(call.project))


ENDPOINTS = [
    Endpoint(
        method="GET",
        path="/v1/orgs",
        scope="runs:read",
        has_project=False,
        handler=orgs,
        summary="List orgs",
        gives={200: OrgList},
    ),
    Endpoint(
        method="POST",
        path="/v1/orgs",
        scope="access:admin",
        has_project=False,
        is_platform=True,
        handler=make_org,
        summary="Make an org",
        takes=OrgRequest,
        gives={201: Org},
    ),
    Endpoint(
        method="GET",
        path="/v1/projects",
        scope="runs:read",
        has_project=False,
        handler=listed,
        summary="List the projects that the caller may name",
        gives={200: ProjectList},
    ),
    Endpoint(
        method="POST",
        path="/v1/projects",
        scope="access:admin",
        has_project=False,
        is_platform=True,
        handler=make,
        summary="Make a project",
        takes=ProjectRequest,
        gives={201: Project},
    ),
    Endpoint(
        method="GET",
        path="/v1/projects/{slug}",
        scope="runs:read",
        project_in_path="slug",
        handler=show,
        summary="Look at a project",
        gives={200: Project},
    ),
]
