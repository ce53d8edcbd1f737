"""The environment of a command: little by default, more where its definition says so, secrets by name only.

A definition never holds the value of a secret. It names it, and the worker looks it up: in its own variables, else in the
folder that RINGBACK_SECRETS_DIR names, where each file is one secret, as containers and service managers mount them. What it
finds is given to the command and masked in everything that the command says. The worker's own variables are not handed on,
its token least of all.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from ringback.worker.assignment import Assignment
from ringback.worker.reporting import ChildRefusedError

PASSED: Final = frozenset({"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL"})
PASSED_PREFIX: Final = "LC_"
PATH_DEFAULT: Final = "/usr/local/bin:/usr/bin:/bin"
# Without a terminal an editor for the full screen cannot work, and not all of them notice: with nothing on stdin vim 9
# reads from stderr, which is a pipe here, and waits for ever. A program that fails at once is put in its place.
EDITOR_NAMES: Final = ("EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR")
SCREEN_EDITORS: Final = frozenset(
    {"vi", "vim", "nvim", "view", "nano", "pico", "emacs", "joe", "micro", "hx", "mcedit"}
)
NO_EDITOR: Final = "false"
SECRETS_DIR: Final = "RINGBACK_SECRETS_DIR"
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class MissingSecretError(Exception):
    """The worker has no variable of this name, so the command was not started."""


def secrets_of(assignment: Assignment, worker: Mapping[str, str]) -> dict[str, str]:
    """The declared secrets with their values.

    Raises:
        MissingSecretError: this worker lacks one of them.
    """
    names = [str(name) for name in assignment.profile.get("secrets") or ()]
    found = known_secrets(names, worker)
    if missing := [name for name in names if name not in found]:
        raise MissingSecretError(f"this worker has no variable {', '.join(missing)}, which the tool needs as a secret")
    return found


def known_secrets(names: Iterable[str], worker: Mapping[str, str]) -> dict[str, str]:
    """Those of the secrets that this worker has."""
    values = {name: _value(name, worker) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _value(name: str, worker: Mapping[str, str]) -> str | None:
    if name in worker or not (folder := worker.get(SECRETS_DIR)) or not NAME.fullmatch(name):
        return worker.get(name)
    try:
        return (Path(folder) / name).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError):
        return None


def secret_of(assignment: Assignment, secrets: Mapping[str, str], name: str) -> str:
    """The value of one secret, for the work that asks for it by name.

    Raises:
        ChildRefusedError: the tool does not name it, or this worker has none.
    """
    if name not in (assignment.profile.get("secrets") or ()):
        raise ChildRefusedError("not_found", f"the tool names no secret {name!r}")
    if name not in secrets:
        raise ChildRefusedError("not_found", f"this worker has no variable {name}")
    return secrets[name]


def environment_of(
    assignment: Assignment, worker: Mapping[str, str], secrets: Mapping[str, str], *, url: str = ""
) -> dict[str, str]:
    """Everything that the command finds in its environment; later lines win over earlier ones.

    Args:
        url: the address of the server, where the command may ask people with the token of its attempt.
    """
    profile = assignment.profile
    allowed = PASSED.union(map(str, profile.get("envAllow") or ()))
    passed = {name: value for name, value in worker.items() if name in allowed or name.startswith(PASSED_PREFIX)}
    own = {str(name): str(value) for name, value in (profile.get("env") or {}).items()}
    about = {
        "RINGBACK_RUN_ID": assignment.run_id,
        "RINGBACK_JOB_ID": assignment.job_id,
        "RINGBACK_ATTEMPT": assignment.attempt_id,
        "RINGBACK_ATTEMPT_NO": str(assignment.attempt_no),
        # The same for every attempt of the run, for services that take an idempotency key.
        "RINGBACK_IDEMPOTENCY_TOKEN": assignment.run_id,
    }
    server = {"RINGBACK_URL": url} if url else {}
    if assignment.run_token:
        about["RINGBACK_RUN_TOKEN"] = assignment.run_token
    found = {"PATH": PATH_DEFAULT, "TERM": "dumb", **server, **passed, **own, **secrets, **about}
    return {name: NO_EDITOR if _is_screen_editor(name, value) else value for name, value in found.items()}


def _is_screen_editor(name: str, value: str) -> bool:
    return name in EDITOR_NAMES and value.split(" ")[0].rpartition("/")[2] in SCREEN_EDITORS
