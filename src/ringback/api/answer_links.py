"""The door of answer links: made and revoked by members, and used by whoever holds one, on a page that needs no account.

To look at the page changes nothing: mail programs and chats look at links by themselves. A form that another site sends is
refused; what is in it could only come from somebody who holds the link, for there is no cookie and no session.
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import parse_qsl

from ringback.api.call import Call, text_member
from ringback.api.reply import Reply, reply_json
from ringback.api.routes import Endpoint
from ringback.api.script_shapes import AnswerLink, AnswerLinkList, AnswerLinkRequest
from ringback.domain.errors import (
    AlreadyAnsweredError,
    Flaw,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    RingbackError,
)
from ringback.domain.moments import SECOND, rfc3339
from ringback.domain.roles import Role
from ringback.services.forms import answer_of
from ringback.views.answer_page import HEADERS, MEDIA_TYPE, ended_page, message_page, question_page
from ringback.views.moments import shown

FORM = "application/x-www-form-urlencoded"
FORM_BYTES_MAX = 256 * 1024
FIELDS_MAX = 200
LABEL_MAX = 100
PRIVATE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
GONE = "It may have expired or been revoked. Ask whoever sent it for another one."


async def issue(call: Call) -> Reply:
    """A link that answers this question once, shown once. It answers as the role that is named, or as the caller's own."""
    asked = await call.read(AnswerLinkRequest)
    if asked.role is not None and asked.role not in list(Role):
        raise InvalidInputError(Flaw("/role", f"must be one of {', '.join(Role)}"))
    made = await call.core.answer_links.issue(
        call.principal,
        call.project.project_id,
        call.path["interaction_id"],
        label=text_member(asked.label or None, "/label", LABEL_MAX),
        role=None if asked.role is None else Role(asked.role),
        lasts=asked.expires_in_s * SECOND,
    )
    body = {
        "linkId": made.link_id,
        "url": f"{_base(call)}/answer/{made.token}",
        "role": made.role.value,
        "expiresAt": rfc3339(made.expires_at),
    }
    return reply_json(body, HTTPStatus.CREATED, PRIVATE)


def _base(call: Call) -> str:
    """The address at which people reach this server: as the operator says, else as the caller does."""
    if call.core.public_url:
        return call.core.public_url.rstrip("/")
    host = call.header("host")
    return f"{call.scope.get('scheme', 'http')}://{host}" if host else ""


async def listed(call: Call) -> Reply:
    """The links to a question, newest first, without what would open it."""
    found, _ = await call.core.interactions.get(call.project.project_id, call.path["interaction_id"])
    items = []
    for row in await call.core.answer_links.of(found):
        body = {"linkId": row["link_id"], "role": row["role"], "label": row["label"], "issuedBy": row["issued_by"]}
        body |= {"createdAt": rfc3339(row["created_at"]), "expiresAt": rfc3339(row["expires_at"])}
        body |= {"usedAt": shown(row["used_at"]), "revokedAt": shown(row["revoked_at"])}
        items.append({name: value for name, value in body.items() if value is not None})
    return reply_json({"items": items})


async def revoke(call: Call) -> Reply:
    """The link opens nothing any more, from now on."""
    where, path = call.project.project_id, call.path
    await call.core.answer_links.revoke(where, path["interaction_id"], path["link_id"], by=call.principal.owner)
    return Reply(HTTPStatus.NO_CONTENT)


async def page(call: Call) -> Reply:
    """The question behind a link as a form, or how it ended. Looking uses nothing up."""
    try:
        link = await call.core.answer_links.opened(call.path["token"])
    except NotFoundError:
        return _html(message_page("This link opens nothing", GONE), HTTPStatus.NOT_FOUND)
    if not link.interaction.is_open or link.run.is_terminal:
        return _html(ended_page(link.interaction))
    return _html(question_page(link.interaction, tool=link.run.tool))


async def answer(call: Call) -> Reply:
    """Answer through a link, once. A late answer is shown the first one."""
    if call.header("sec-fetch-site") == "cross-site":
        return _html(message_page("Not from here", "Open the link itself and answer there."), HTTPStatus.FORBIDDEN)
    if (call.header("content-type") or "").partition(";")[0].strip().lower() != FORM:
        return _html(message_page("Not a form", f"Send {FORM}."), HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    raw, token = await call.body(FORM_BYTES_MAX), call.path["token"]
    try:
        form = dict(parse_qsl(raw.decode(), keep_blank_values=True, max_num_fields=FIELDS_MAX))
    except ValueError:
        return _html(message_page("Not a form", "It can't be read."), HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        link = await call.core.answer_links.opened(token)
        await call.core.answer_links.respond(token, answer_of(link.interaction, form))
    except NotFoundError:
        return _html(message_page("This link opens nothing", GONE), HTTPStatus.NOT_FOUND)
    except AlreadyAnsweredError:
        latest = (await call.core.answer_links.opened(token)).interaction
        return _html(ended_page(latest, is_late=True), HTTPStatus.CONFLICT)
    except InvalidInputError as error:
        shown_again = question_page(link.interaction, tool=link.run.tool, given=form, flaws=error.flaws)
        return _html(shown_again, HTTPStatus.UNPROCESSABLE_ENTITY)
    except ForbiddenError as error:
        return _html(message_page("This link may not answer", str(error)), HTTPStatus.FORBIDDEN)
    except RingbackError as error:
        if not error.retryable:
            raise
        told = message_page("Not now", "Nothing was saved. Go back and try again in a moment.")
        return _html(told, HTTPStatus.SERVICE_UNAVAILABLE)
    return Reply(HTTPStatus.SEE_OTHER, headers={**HEADERS, "location": token})


def _html(body: bytes, status: int = HTTPStatus.OK) -> Reply:
    return Reply(status, body, media_type=MEDIA_TYPE, headers=HEADERS)


_LINKS, _PAGE = "/v1/interactions/{interaction_id}/links", "/answer/{token}"
ENDPOINTS = [
    Endpoint(
        method="POST",
        path=_LINKS,
        scope="interactions:answer",
        handler=issue,
        summary="Make a link that answers a question",
        takes=AnswerLinkRequest,
        gives={201: AnswerLink},
    ),
    Endpoint(
        method="GET",
        path=_LINKS,
        scope="interactions:answer",
        handler=listed,
        summary="List the links to a question",
        gives={200: AnswerLinkList},
    ),
    Endpoint(
        method="DELETE",
        path=f"{_LINKS}/{{link_id}}",
        scope="interactions:answer",
        handler=revoke,
        summary="Revoke a link to a question",
        gives={204: None},
    ),
    Endpoint(
        method="GET",
        path=_PAGE,
        scope=None,
        handler=page,
        summary="The question behind a link",
        gives={200: MEDIA_TYPE, 404: MEDIA_TYPE},
    ),
    Endpoint(
        method="POST",
        path=_PAGE,
        scope=None,
        handler=answer,
        summary="Answer through a link",
        takes=FORM,
        gives={303: None, **dict.fromkeys((403, 404, 409, 415, 422, 503), MEDIA_TYPE)},
    ),
]
