"""`answer` and `withdraw`: what a job asks, the answer to it, and taking it back."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from ringback.cli.arguments import ArgumentError, read_arguments, read_json
from ringback.cli.completion import job_ids
from ringback.cli.moments import local
from ringback.cli.session import Session, connected
from ringback.cli.terminal import plain
from ringback.client.errors import AlreadyAnsweredError
from ringback.client.records import Interaction
from ringback.client.requests import ABSENT
from ringback.domain.durations import DurationError, parse_duration

OF_QUESTIONS = "int_"


@connected()
def answer(
    session: Session,
    question: Annotated[
        str,
        typer.Argument(metavar="ID", help="A question's id, or that of a job which asks one.", autocompletion=job_ids),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Members of the answer, as its schema wants them."),
    ] = None,
    approve: Annotated[bool, typer.Option("--approve", help="Yes.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="No, or refuse to answer.")] = False,
    option: Annotated[str | None, typer.Option(metavar="OPTION", help="The id of the option to choose.")] = None,
    payload: Annotated[str | None, typer.Option(metavar="JSON", help="The answer itself, as JSON.")] = None,
    link: Annotated[bool, typer.Option("--link", help="Print a link to a page that answers it, once.")] = False,
    link_for: Annotated[str | None, typer.Option("--for", metavar="NAME", help="Whom the link is for.")] = None,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="How long the link is good: 1h (a day).")] = None,
) -> None:
    """Answer what a job asks; without an answer, print the question. The first answer counts."""
    if approve and reject:
        raise ArgumentError("--approve and --reject exclude each other")
    asked = _found(session, question)
    if link or link_for or expires:
        _link(session, asked, link_for, expires)
        return
    given = _payload(asked, words or (), payload)
    decision = "approve" if approve else "reject" if reject else None
    if decision or option is not None or given is not ABSENT:
        asked = _answered(session, asked, decision, option, given)
    if session.out.json_mode:
        session.out.document(asked.raw)
    elif asked.is_open:
        _print(session, asked)
    else:
        session.out.line(f"{asked.interaction_id}  {plain(asked.status)}")


def _answered(
    session: Session, asked: Interaction, decision: str | None, option: str | None, given: Any
) -> Interaction:
    try:
        return session.client.answer(asked.interaction_id, decision, option=option, payload=given)
    except AlreadyAnsweredError:  # show the answer that counts, then end as any refusal does
        if not session.out.json_mode:
            session.out.note(outcome_of(session.client.interaction(asked.interaction_id)))
        raise


def _link(session: Session, asked: Interaction, label: str | None, expires: str | None) -> None:
    try:
        expires_in_s = None if expires is None else parse_duration(expires) / 1_000_000
    except DurationError as error:
        raise ArgumentError(f"--expires: {error}") from None
    made = session.client.answer_link(asked.interaction_id, label=label, expires_in=expires_in_s)
    if session.out.json_mode:
        session.out.document(made.raw)
    else:
        session.out.line(made.url)


def outcome_of(asked: Interaction) -> str:
    """How a question ended, on one line: what counts, who said it and when."""
    said = dict(asked.response or {})
    parts = [f"{asked.interaction_id} is {asked.status}"]
    if "decision" in said:
        parts.append(str(said["decision"]))
    if "selectedOptionId" in said:
        parts.append(str(said["selectedOptionId"]))
    if "payload" in said:
        parts.append(json.dumps(said["payload"], ensure_ascii=False))
    if "submittedBy" in said:
        parts.append(f"by {said['submittedBy']}, {said.get('submittedAt', '')}")
    return plain(": ".join((parts[0], ", ".join(parts[1:])) if parts[1:] else parts))


@connected()
def withdraw(
    session: Session,
    question: Annotated[
        str,
        typer.Argument(metavar="ID", help="A question's id, or that of a job which asks one.", autocompletion=job_ids),
    ],
) -> None:
    """Take back what a job asks: nobody can answer it any more."""
    asked = session.client.withdraw(_found(session, question).interaction_id)
    if session.out.json_mode:
        session.out.document(asked.raw)
    else:
        session.out.line(f"{asked.interaction_id}  {plain(asked.status)}")


def _found(session: Session, name: str) -> Interaction:
    if name.startswith(OF_QUESTIONS):
        return session.client.interaction(name)
    found = session.client.job(name).interactions(status="open")
    if len(found) == 1:
        return found[0]
    if not found:
        raise ArgumentError(f"{name} asks nothing at present")
    raise ArgumentError(f"{name} asks more than one thing: {', '.join(each.interaction_id for each in found)}")


def _payload(asked: Interaction, words: Sequence[str], whole: str | None) -> Any:
    if whole is not None and words:
        raise ArgumentError("give the answer as --payload or as KEY=VALUE, not both")
    if whole is not None:
        return read_json(whole, "--payload")
    return read_arguments(words, asked.response_schema or {}) if words else ABSENT


def _print(session: Session, asked: Interaction) -> None:
    out = session.out
    out.line(f"{out.paint(asked.interaction_id, 'bold')}  {plain(asked.kind)}  {plain(asked.title)}")
    facts = {
        "asks": plain(asked.description or ""),
        "options": ", ".join(plain(each["id"]) for each in asked.options),
        "members": ", ".join(plain(each) for each in (asked.response_schema or {}).get("properties", {})),
        "for": ", ".join(f"{plain(each)} and above" for each in asked.respondents),
        "until": local(asked.expires_at, datetime.now(UTC)),
    }
    for name, fact in facts.items():
        if fact:
            out.line(f"  {name.ljust(7)}  {fact}")
