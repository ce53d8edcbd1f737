"""Links that let whoever holds one answer one question, once: for a phone, without an account.

A link's token has 256 random bits, is shown once and kept as a keyed hash. It answers as the role that it was made for, and as no
more than its maker still has. To look at it uses nothing up, because mail programs and chats look at links by themselves; the
answer does, in the transaction that closes the question. A wrong, an expired and a revoked token are alike to everybody.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from ringback.domain.errors import AlreadyAnsweredError, NotARespondentError, NotFoundError
from ringback.domain.ids import ProjectId
from ringback.domain.moments import DAY, SECOND, Micros, Moment
from ringback.domain.roles import Role
from ringback.domain.runs import Run
from ringback.ports.clock import Clock, Ids
from ringback.ports.store import Desk, Row, Store
from ringback.services.access import Access, Principal, Respondent, admit_respondent
from ringback.services.audit import Deed, record
from ringback.services.interactions import Interactions
from ringback.services.questions import Answer, Interaction

PREFIX = "rba_"
LASTS_DEFAULT: Micros = DAY
LASTS_LEAST: Micros = SECOND
LASTS_MOST: Micros = 30 * DAY
_PURPOSE = b"answer-link"
_TOKEN_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLink:
    """A link as it is shown, once."""

    link_id: str
    token: str
    role: Role
    expires_at: Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLink:
    """What a link leads to, and as whom it answers."""

    interaction: Interaction
    run: Run
    respondent: Respondent
    expires_at: Moment


@dataclass(slots=True, kw_only=True)
class AnswerLinks:
    """Makes, opens and revokes them."""

    store: Store
    clock: Clock
    ids: Ids
    pepper: bytes
    access: Access
    interactions: Interactions

    async def issue(
        self,
        principal: Principal,
        project_id: ProjectId,
        interaction_id: str,
        *,
        label: str | None = None,
        role: Role | None = None,
        lasts: Micros = LASTS_DEFAULT,
    ) -> AnswerLink:
        """A new link to an open question, for `label`, that answers as `role`: the maker's own if none is named.

        Raises:
            NotFoundError: no such question in the project.
            AlreadyAnsweredError: the question is over.
            NotARespondentError: the maker may not answer it, or hands on more than it has, or the role would not do.
        """
        found, run = await self.interactions.get(project_id, interaction_id)
        maker = self.access.respondent(principal, project_id)
        admit_respondent(maker, found.respondents)
        as_role = role or maker.role
        if as_role is None or maker.role is None or as_role.rank > maker.role.rank:
            raise NotARespondentError(as_role or Role.RUNNER, maker.role or "")
        admit_respondent(Respondent("", as_role), found.respondents)
        if not found.is_open:
            raise AlreadyAnsweredError(found.interaction_id, found.status, found.response)
        token, expires_at = PREFIX + secrets.token_urlsafe(32), self.clock.now() + lasts
        made = AnswerLink(link_id=self.ids.new(), token=token, role=as_role, expires_at=expires_at)
        values = {
            "link_id": made.link_id,
            "digest": self._digest(token),
            "interaction_id": found.interaction_id,
            "run_id": run.run_id,
            "role": as_role.value,
            "label": label,
            "issued_by": principal.owner,
            "user_id": principal.user_id,
            "expires_at": expires_at,
        }

        def work(desk: Desk) -> None:
            desk.write("insert_answer_link", {**values, "created_at": desk.now})
            self._note(desk, "answer_link.issued", run, found, made.link_id, principal.owner)

        await self.store.commit(work)
        return made

    async def of(self, found: Interaction) -> Sequence[Row]:
        """The links to a question, newest first, without what would open it."""
        return await self.store.reads.rows("answer_links_of", {"interaction_id": found.interaction_id})

    async def revoke(self, project_id: ProjectId, interaction_id: str, link_id: str, *, by: str) -> None:
        """Let a link open nothing any more, at once. Repeating it changes nothing.

        Raises:
            NotFoundError: the question has no such link.
        """
        found, run = await self.interactions.get(project_id, interaction_id)
        if all(row["link_id"] != link_id for row in await self.of(found)):
            raise NotFoundError("link", link_id)

        def work(desk: Desk) -> None:
            desk.write("revoke_answer_link", {"link_id": link_id, "now": desk.now})
            self._note(desk, "answer_link.revoked", run, found, link_id, by)

        await self.store.commit(work)

    async def opened(self, token: str) -> OpenedLink:
        """What a link leads to.

        Raises:
            NotFoundError: the token is none, has expired or was revoked, or its maker is no member any more.
        """
        rows = await self.store.reads.rows("answer_link_by_digest", {"digest": self._digest(token[:_TOKEN_MAX])})
        row = rows[0] if rows else None
        if row is None or row["revoked_at"] is not None or row["expires_at"] <= self.clock.now():
            raise NotFoundError("link", "")
        run = await self.store.reads.run(row["run_id"])
        role = None if run is None else self._role(row, run.project_id)
        if run is None or role is None:
            raise NotFoundError("link", "")
        found, _ = await self.interactions.get(run.project_id, row["interaction_id"])
        name = f"{row['issued_by']} (link for {row['label']})" if row["label"] else f"{row['issued_by']} (link)"
        respondent = Respondent(name, role, link_id=row["link_id"])
        return OpenedLink(interaction=found, run=run, respondent=respondent, expires_at=row["expires_at"])

    def _role(self, row: Row, project_id: ProjectId) -> Role | None:
        """The role that the link was made for, and no more than its maker has now."""
        now, made_for = self.access.role_of(row["user_id"], project_id), Role(row["role"])
        return None if now is None else min(now, made_for, key=lambda role: role.rank)

    async def respond(self, token: str, answer: Answer) -> Interaction:
        """Answer through a link; what the question then is.

        Raises:
            NotFoundError: the link opens nothing.
            NotARespondentError: its maker may no longer answer.
            InvalidInputError: no answer to this question; it stays open, and the link good.
            AlreadyAnsweredError: it is over; the error shows how.
        """
        link = await self.opened(token)
        where, name = link.run.project_id, link.interaction.interaction_id
        return await self.interactions.respond(where, name, answer, by=link.respondent)

    def _note(self, desk: Desk, action: str, run: Run, found: Interaction, link_id: str, by: str) -> None:
        facts = {"linkId": link_id, "runId": run.run_id}
        deed = Deed(actor=by, action=action, subject=found.interaction_id, project_id=run.project_id, facts=facts)
        record(desk, deed)

    def _digest(self, token: str) -> str:
        key, text = self.pepper[:64], token.encode(errors="replace")
        return hashlib.blake2b(text, key=key, digest_size=32, person=_PURPOSE).hexdigest()
