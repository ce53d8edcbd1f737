"""What a run may ask of people, and what counts as an answer: the rules about one interaction, without its storage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from ringback.domain.errors import Flaw, InvalidInputError
from ringback.domain.ids import InteractionId, RunId
from ringback.domain.json_values import escape, flaws_of
from ringback.domain.moments import Moment
from ringback.domain.roles import Role
from ringback.ports.store import Row

KINDS = frozenset(("approval", "input", "auth", "confirmation"))
STATUSES = frozenset(("open", "answered", "rejected", "expired", "withdrawn"))
ON_EXPIRY = frozenset(("default", "reject", "fail"))
DECIDED = frozenset(("approval", "confirmation"))  # answered by a decision; the others by a payload or an option
MEMBERS = frozenset(
    (
        "title",
        "description",
        "options",
        "responseSchema",
        "onExpiry",
        "default",
        "respondents",
        "key",
        "kind",
        "blocking",
        "expiresInS",
    )
)
ROLES = tuple(role.value for role in Role)
TITLE_MAX, TEXT_MAX, OPTIONS_MAX, KEY_MAX = 200, 4_000, 20, 100
EXPIRES_MAX_S = 365 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Interaction:
    """A question as it stands. `question` has its title, description, options, schema and what happens when nobody answers."""

    interaction_id: InteractionId
    run_id: RunId
    kind: str
    is_blocking: bool
    status: str
    question: Mapping[str, Any]
    expires_at: Moment | None
    opened_at: Moment
    closed_at: Moment | None
    response: Mapping[str, Any] | None

    @property
    def is_open(self) -> bool:
        return self.status == "open"

    @property
    def respondents(self) -> tuple[str, ...]:
        """The roles that it is put to; none: whoever may answer."""
        return tuple(self.question.get("respondents") or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What somebody answers. `decision` is approve or reject; to reject is possible for every question."""

    decision: str | None = None
    selected_option_id: str | None = None
    payload: Any = None
    has_payload: bool = False

    @property
    def is_rejection(self) -> bool:
        return self.decision == "reject"


def interaction_of(row: Row) -> Interaction:
    return Interaction(
        interaction_id=row["interaction_id"],
        run_id=row["run_id"],
        kind=row["kind"],
        is_blocking=bool(row["blocking"]),
        status=row["status"],
        question=json.loads(row["prompt"]),
        expires_at=row["expires_at"],
        opened_at=row["opened_at"],
        closed_at=row["closed_at"],
        response=None if row["response"] is None else json.loads(row["response"]),
    )


def check_question(question: Mapping[str, Any]) -> None:
    """Refuse what can't be asked.

    Raises:
        InvalidInputError: names each flaw by its JSON pointer.
    """
    flaws = [*_question_flaws(question), *flaws_of(question, "")]
    if flaws:
        raise InvalidInputError(*flaws)


def _question_flaws(question: Mapping[str, Any]) -> Iterator[Flaw]:
    for name in sorted(question.keys() - MEMBERS):
        yield Flaw(f"/{escape(name)}", "unknown member")
    if question.get("kind") not in KINDS:
        yield Flaw("/kind", f"must be one of {', '.join(sorted(KINDS))}")
    title = question.get("title")
    if not isinstance(title, str) or not 1 <= len(title) <= TITLE_MAX:
        yield Flaw("/title", f"must have 1 to {TITLE_MAX} characters")
    if not isinstance(question.get("description", ""), str) or len(question.get("description", "")) > TEXT_MAX:
        yield Flaw("/description", f"at most {TEXT_MAX} characters")
    if not isinstance(question.get("key"), str) or not 1 <= len(question["key"]) <= KEY_MAX:
        yield Flaw("/key", f"must have 1 to {KEY_MAX} characters")
    yield from _option_flaws(question.get("options"))
    respondents = question.get("respondents")
    if respondents is not None and not (
        isinstance(respondents, list) and respondents and all(each in ROLES for each in respondents)
    ):
        yield Flaw("/respondents", f"must be roles of the project: {', '.join(ROLES)}")
    yield from _schema_flaws(question)
    seconds = question.get("expiresInS")
    if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds <= EXPIRES_MAX_S):
        yield Flaw("/expiresInS", f"must lie between 0 and {EXPIRES_MAX_S}")
    if question.get("onExpiry", "fail") not in ON_EXPIRY:
        yield Flaw("/onExpiry", f"must be one of {', '.join(sorted(ON_EXPIRY))}")
    if (question.get("onExpiry") == "default") != ("default" in question):
        yield Flaw("/default", "a default goes with onExpiry=default, and the other way round")


def _option_flaws(options: Any) -> Iterator[Flaw]:
    if options is None:
        return
    is_list = isinstance(options, list) and 1 <= len(options) <= OPTIONS_MAX
    ids = [each.get("id") for each in options if isinstance(each, Mapping)] if is_list else []
    if (
        not is_list
        or len(ids) != len(options)
        or len(set(ids)) != len(ids)
        or not all(isinstance(i, str) and i for i in ids)
    ):
        yield Flaw("/options", f"must be 1 to {OPTIONS_MAX} objects with an id each, all different")


def _schema_flaws(question: Mapping[str, Any]) -> Iterator[Flaw]:
    schema = question.get("responseSchema")
    if schema is None:
        return
    try:
        validator = jsonschema_rs.Draft202012Validator(schema)
    except (jsonschema_rs.ValidationError, ValueError, TypeError) as error:
        yield Flaw("/responseSchema", f"not a JSON Schema (2020-12): {str(error).splitlines()[0][:300]}")
        return
    if "default" in question and not validator.is_valid(question["default"]):
        yield Flaw("/default", "does not fit the responseSchema")


def check_answer(interaction: Interaction, answer: Answer) -> None:
    """Refuse what is no answer to this question; the question stays open.

    Raises:
        InvalidInputError: names each flaw by its JSON pointer.
    """
    flaws = list(_answer_flaws(interaction, answer))
    if flaws:
        raise InvalidInputError(*flaws)


def _answer_flaws(interaction: Interaction, answer: Answer) -> Iterator[Flaw]:
    if answer.decision not in (None, "approve", "reject"):
        yield Flaw("/decision", "must be approve or reject")
        return
    if answer.is_rejection:
        return
    yield from flaws_of(answer.payload, "/payload")
    question, options = interaction.question, interaction.question.get("options")
    if options:
        if answer.selected_option_id not in [each["id"] for each in options]:
            yield Flaw("/selectedOptionId", f"must be one of {', '.join(each['id'] for each in options)}")
    elif answer.selected_option_id is not None:
        yield Flaw("/selectedOptionId", "this question has no options")
    elif interaction.kind in DECIDED and answer.decision is None:
        yield Flaw("/decision", "must be approve or reject")
    elif interaction.kind not in DECIDED and not answer.has_payload:
        yield Flaw("/payload", "an answer, or decision=reject, is needed")
    schema = question.get("responseSchema")
    if schema is not None and answer.has_payload:
        for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(answer.payload):
            where = "".join(f"/{escape(str(part))}" for part in error.instance_path)
            yield Flaw(f"/payload{where}", error.message[:300])
