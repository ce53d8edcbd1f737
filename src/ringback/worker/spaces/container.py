"""A container for one attempt, by Docker or Podman: the tool's folder inside, no network, and nothing else of the machine.

The command runs as the worker's own user with the limits of its tool. Of the environment it gets what its definition says; values
never stand on a command line, where every user of the machine could read them.
"""

import os
import shutil
from collections.abc import Mapping
from typing import Any, Final

from ringback.worker.assignment import Assignment
from ringback.worker.environment import PASSED, PASSED_PREFIX
from ringback.worker.spaces.programs import ProgramError, call

ENGINES: Final = ("docker", "podman")
INSIDE: Final = "/workspace"
ANSWERS_WITHIN_S: Final = 20.0
# What the engine's client may need to find its daemon; the command does not see it.
_CLIENT: Final = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "CONTAINER_HOST", "XDG_RUNTIME_DIR")
_OPTIONS: Final = (
    ("memoryBytes", "--memory", "{}"),
    ("processes", "--pids-limit", "{}"),
    ("cpuSeconds", "--ulimit", "cpu={}"),
    ("openFiles", "--ulimit", "nofile={}"),
    ("fileBytes", "--ulimit", "fsize={}"),
)
_ASKING: Final = ("RINGBACK_URL", "RINGBACK_RUN_TOKEN")
_ABOUT: Final = ("RINGBACK_RUN_ID", "RINGBACK_JOB_ID", "RINGBACK_ATTEMPT_NO", "RINGBACK_IDEMPOTENCY_TOKEN")


def engine_of(asked: Mapping[str, Any]) -> str:
    """The program that makes containers here.

    Raises:
        ProgramError: there is none, or its daemon does not answer; says which and why.
    """
    wanted = (str(asked["engine"]),) if asked.get("engine") else ENGINES
    found = [path for name in wanted if (path := shutil.which(name)) is not None]
    if not found:
        raise ProgramError(f"this worker can make no container: {' and '.join(wanted)} not found")
    reasons: list[str] = []
    for program in found:
        try:
            call([program, "version", "--format", "{{.Server.Version}}"], within_s=ANSWERS_WITHIN_S)
        except ProgramError as error:
            reasons.append(str(error))
        else:
            return program
    raise ProgramError(f"this worker can make no container: {'; '.join(reasons)}")


def prefix_of(program: str, name: str, asked: Mapping[str, Any], assignment: Assignment) -> tuple[str, ...]:
    """What stands before the command, so that it runs in a container of this name."""
    profile = assignment.profile
    words = [program, "run", "--rm", "--init", "--name", name, "--label", f"ringback.run={assignment.run_id}"]
    words += [] if asked.get("network") else ["--network", "none"]
    words += ["--mount", f"type=bind,source={profile.get('cwd')},target={INSIDE}", "--workdir", INSIDE]
    words += ["--userns", "keep-id"] if program.endswith("podman") and os.getuid() else []
    words += ["--user", f"{os.getuid()}:{os.getgid()}"]
    words += _limits(profile.get("limits") or {})
    for variable in [*_variables(profile), *(_ASKING if asked.get("network") else ())]:
        words += ["--env", variable]
    return (*words, str(asked["image"]))


def profile_of(profile: Mapping[str, Any]) -> dict[str, Any]:
    """The profile for the engine's client: its environment knows the daemon, and the limits are the container's."""
    limits = profile.get("limits") or {}
    kept = {name: limits[name] for name in ("outputBytes",) if name in limits}
    return {**profile, "limits": kept, "envAllow": [*(profile.get("envAllow") or ()), *_CLIENT]}


def remove(program: str, name: str) -> None:
    """Nothing of it lives afterwards; one that is gone already is fine.

    Raises:
        ProgramError: the engine can't say.
    """
    try:
        call([program, "rm", "--force", name])
    except ProgramError as error:
        if "no such container" not in str(error).lower():
            raise


def _limits(limits: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name, option, form in _OPTIONS:
        if name in limits:
            found += [option, form.format(limits[name])]
    return found


def _variables(profile: Mapping[str, Any]) -> list[str]:
    """Names only: their values are in the environment of the client."""
    own = [*(profile.get("env") or ()), *(profile.get("secrets") or ())]
    allowed = [
        str(name) for name in profile.get("envAllow") or () if name not in PASSED and not name.startswith(PASSED_PREFIX)
    ]
    return list(dict.fromkeys([*own, *allowed, *_ABOUT, "RINGBACK_RUN_SPACE"]))
