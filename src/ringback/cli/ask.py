"""`ask`: a question to people from any program inside a job, and the exit code that tells the answer.

    0 approved, answered, or the default   1 rejected   2 it can't be asked like that   3 withdrawn   4 expired
    5 server unreachable   6 the attempt is over

The question is kept by the server and known there before this process waits: a restart of the server, a broken connection and a
repeated request leave it one question. Who is interrupted while waiting takes the question back.
"""

import json as codec
import signal
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from ringback.cli.arguments import ArgumentError, read_json
from ringback.cli.exits import Exit
from ringback.cli.inside import HURRIED, inside
from ringback.cli.session import Session
from ringback.cli.terminal import plain
from ringback.client import operations
from ringback.client.blocking import Ringback
from ringback.client.errors import RingbackError
from ringback.client.records import Interaction
from ringback.domain.durations import DurationError, parse_duration

KINDS = {"approve": "approval", "confirm": "confirmation", "input": "input", "auth": "auth"}


def ask(
    title: Annotated[str, typer.Argument(metavar="QUESTION", help="What is asked, on one line.")],
    approve: Annotated[bool, typer.Option("--approve", help="A yes or no (this is the default).")] = False,
    confirm: Annotated[bool, typer.Option("--confirm", help="A yes or no about what is under way.")] = False,
    wants_input: Annotated[bool, typer.Option("--input", help="A value, or one of the options.")] = False,
    auth: Annotated[bool, typer.Option("--auth", help="Something that proves who answers.")] = False,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="More about it.")] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="ID[=LABEL]", help="Something to choose; may be given several times.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="JSON|FILE", help="JSON Schema of the answer, or a file with it.")
    ] = None,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="How long people have: 10m, 2h.")] = None,
    on_expiry: Annotated[str | None, typer.Option(metavar="WHAT", help="Then: fail, reject or default.")] = None,
    default: Annotated[
        str | None, typer.Option(metavar="VALUE", help="The answer when nobody gives one in time.")
    ] = None,
    respondent: Annotated[
        list[str] | None, typer.Option(metavar="ROLE", help="Who may answer: this role and those above it.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="What the question is known by within the job.")
    ] = None,
    non_blocking: Annotated[
        bool, typer.Option("--non-blocking", help="The job doesn't count as waiting for it.")
    ] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="Print the question's id and don't wait. Asks non-blocking.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the question with its answer as JSON.")] = False,
) -> None:
    """Ask people something from inside a job, and wait for the answer.

    Prints what was answered, if it is more than yes or no. Exit codes: 0 approved or answered, 1 rejected, 3 withdrawn,
    4 nobody answered in time, 5 server unreachable, 6 the attempt is over.
    """
    flags = {"approve": approve, "confirm": confirm, "input": wants_input, "auth": auth}

    def act(session: Session, client: Ringback) -> None:
        question = {
            "kind": _kind(flags, has_choice=bool(option or schema)),
            "title": title,
            "description": description,
            "options": [_option(each) for each in option] if option else None,
            "responseSchema": None if schema is None else _schema(schema),
            "blocking": not (non_blocking or no_wait),
            "expiresInS": None if expires is None else _seconds(expires),
            "onExpiry": on_expiry or (None if default is None else "default"),
            "respondents": respondent or None,
            "key": key,
        }
        members = {name: value for name, value in question.items() if value is not None}
        if default is not None:
            members["default"] = _value(default, members.get("responseSchema"))
        _carry_out(session, client, members, waits=not no_wait)

    inside("ask", act, json_mode=json)


def _carry_out(session: Session, client: Ringback, question: Mapping[str, Any], *, waits: bool) -> None:
    with _interruptible():
        asked: Interaction | None = None
        try:
            asked = client.driver.run(operations.question(client.link, question, uuid.uuid4().hex))
            if waits and asked.is_open:
                session.out.note(f"ringback: waits for an answer: ringback answer {asked.interaction_id}")
                asked = client.driver.run(operations.answered(client.link, asked.interaction_id))
        except Interrupted as interrupted:
            if asked is not None:
                _take_back(client, asked)
            raise typer.Exit(128 + interrupted.number) from None
    if session.out.json_mode:
        session.out.document(asked.raw)
    elif not waits and asked.is_open:
        session.out.line(asked.interaction_id)
    else:
        _print_answer(session, asked)
    raise typer.Exit(exit_of(asked))


def exit_of(asked: Interaction) -> Exit:
    """What became of a question, as an exit code. One that is still open was only asked, which is done."""
    said = asked.response or {}
    match asked.status:
        case "withdrawn":
            return Exit.CANCELLED
        case "expired" if not said:
            return Exit.TIMED_OUT
        case _:
            return Exit.FAILED if said.get("decision") == "reject" else Exit.DONE


def _print_answer(session: Session, asked: Interaction) -> None:
    """What was answered on stdout, if it is more than a decision; how it ended otherwise on stderr."""
    said = asked.response or {}
    if said.get("decision") == "reject" or not said:
        by = said.get("submittedBy")
        session.out.note(f"ringback: {plain(asked.status)}" + (f" by {plain(by)}" if by else ""))
    elif "payload" in said:
        payload = said["payload"]
        session.out.line(payload if isinstance(payload, str) else codec.dumps(payload, ensure_ascii=False))
    elif "selectedOptionId" in said:
        session.out.line(str(said["selectedOptionId"]))


class Interrupted(BaseException):
    """SIGTERM or SIGINT came while this process waited."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def _interruptible() -> Iterator[None]:
    def heard(number: int, _: FrameType | None) -> None:
        raise Interrupted(number)

    before = {number: signal.signal(number, heard) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _take_back(client: Ringback, asked: Interaction) -> None:
    """Nobody waits for the answer any more. Where that can't be said now, the end of the attempt says it."""
    link = replace(client.link, retry=HURRIED)
    with suppress(RingbackError, Interrupted):
        client.driver.run(operations.take_back(link, asked.interaction_id))


def _kind(flags: Mapping[str, bool], *, has_choice: bool) -> str:
    named = [KINDS[name] for name, is_set in flags.items() if is_set]
    if len(named) > 1:
        raise ArgumentError("--approve, --confirm, --input and --auth exclude each other")
    return named[0] if named else "input" if has_choice else "approval"


def _option(text: str) -> dict[str, str]:
    name, _, label = text.partition("=")
    return {"id": name, "label": label or name}


def _schema(text: str) -> Any:
    if text.lstrip().startswith("{"):
        return read_json(text, "--schema")
    try:
        return read_json(Path(text).read_text(encoding="utf-8"), f"--schema {text}")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"--schema {text}: {error}") from None


def _seconds(text: str) -> float:
    try:
        return parse_duration(text) / 1_000_000
    except DurationError as error:
        raise ArgumentError(f"--expires: {error}") from None


def _value(text: str, schema: Any) -> Any:
    """A default as it is meant: text where the schema wants text, else JSON where it is JSON."""
    wanted = schema.get("type") if isinstance(schema, Mapping) else None
    if wanted == "string":
        return text
    try:
        return codec.loads(text)
    except ValueError:
        return text
