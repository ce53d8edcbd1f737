"""`inbox`: what the caller was not told yet, for people, for programs, and for the hooks of coding assistants.

Called by a hook it never disturbs its host: with no server, no token or nothing to tell it prints nothing and succeeds. Notices
are acknowledged after they were printed, so that whatever goes wrong in between shows them again rather than never.
"""

import json
import os
import select
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from ringback.cli.session import Session, connected
from ringback.client.errors import RingbackError
from ringback.hosts.batch import batch
from ringback.hosts.dialects import DIALECTS, Dialect, Moment
from ringback.settings.errors import SettingsError

HOOK_INPUT_BYTES_MAX = 1 << 20
HOOK_INPUT_WITHIN_S = 5.0


class Format(StrEnum):
    """For whom it is printed; a test holds the hooks' names against the dialects."""

    TEXT = "text"
    JSON = "json"
    CLAUDE_CODE = "claude-code-hook"
    CODEX = "codex-hook"
    VSCODE = "vscode-hook"
    GEMINI = "gemini-hook"
    CURSOR = "cursor-hook"


@connected()
def inbox(
    session: Session,
    drain: Annotated[bool, typer.Option("--drain", help="They have arrived: do not offer them again.")] = False,
    form: Annotated[
        Format, typer.Option("--format", help="For whom: people, programs, or a host's hook.")
    ] = Format.TEXT,
    thread: Annotated[str | None, typer.Option(help="Only of this thread.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="At most so many.")] = 100,
) -> None:
    """Print what you were not told yet about jobs that you started."""
    dialect = DIALECTS.get(form)
    if dialect is not None:
        _answer_hook(session, dialect, thread, limit, drain=drain)
        return
    page = session.client.inbox(thread_id=thread, limit=limit)
    found = page["items"]
    if session.out.json_mode or form is Format.JSON:
        session.out.document(page)
    elif found:
        print("\n\n".join(str(item["text"]) for item in found), flush=True)
    else:
        session.out.note("Nothing new.")
    if drain:
        _acknowledge(session, found)


def _answer_hook(session: Session, dialect: Dialect, thread: str | None, limit: int, *, drain: bool) -> None:
    told = _hook_input()
    moment = dialect.moment_of(told)
    if moment is Moment.OTHER:
        return
    try:
        page = session.client.inbox(thread_id=thread, limit=limit)
        found = [item for item in page["items"] if moment is Moment.PROMPT or item["status"] != "cancelled"]
        text = batch(found, has_more="nextCursor" in page)
        if not text.told:
            return
        print(json.dumps(dialect.answer(moment, dialect.event_of(told), text.text), ensure_ascii=False), flush=True)
        if drain:
            _acknowledge(session, text.told)
    except (RingbackError, SettingsError):
        return  # a hook that fails would be shown to the user at every prompt


def _acknowledge(session: Session, items: Sequence[Mapping[str, Any]]) -> None:
    if items:
        session.client.acknowledge(items=[str(item["itemId"]) for item in items])


def _hook_input() -> Mapping[str, Any]:
    """What the host says on stdin; nothing, when it says nothing in time or what it says is no JSON object."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    read, source = b"", sys.stdin.fileno()
    while len(read) < HOOK_INPUT_BYTES_MAX and select.select([source], [], [], HOOK_INPUT_WITHIN_S)[0]:
        if not (part := os.read(source, 65_536)):
            break
        read += part
    try:
        told = json.loads(read)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
