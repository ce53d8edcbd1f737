"""What a worker has to know of an MCP server before it hosts it: read from a profile, with its secrets looked up.

The definition never holds a secret. It names variables of the worker, or a file that only the worker's user can read,
and whatever is found there is masked in everything that the server says. The worker's own variables are not handed
on.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ringback.worker.environment import PASSED, PASSED_PREFIX, PATH_DEFAULT, MissingSecretError, known_secrets
from ringback.worker.hosting.errors import HostError
from ringback.worker.masking import Mask

IDLE_S: Final = 300.0
START_WITHIN_S: Final = 60.0
SECRETS_FILE_MAX: Final = 64 * 1024
ASKS: Final = ("elicitation",)
"""What a server may ask of people when its definition says nothing."""
_REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """When a server that died is started again: how often in a row, and after which pauses."""

    policy: str = "on_failure"
    delay_s: float = 0.5
    delay_max_s: float = 30.0
    attempts_max: int = 5

    def pause_s(self, failures: int) -> float:
        """How long to wait after so many failures in a row; the first restart is at once."""
        return 0.0 if failures < 2 else float(min(self.delay_max_s, self.delay_s * 2 ** min(failures - 2, 20)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDefinition:
    """One server as this worker would host it.

    Attributes:
        key: the same for definitions that mean the same server.
        command: a program to start, or None where there is an address.
        capabilities: what is declared to it: what it may ask.
        roots: what it is told when it asks for its roots.
        sessions_max: so many sessions at a time; None is no limit of its own.
        keeps: whether a session serves several calls, one after the other.
    """

    key: str
    mask: Mask = field(repr=False)
    command: tuple[str, ...] | None = None
    url: str | None = None
    cwd: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    client_info: Mapping[str, Any] | None = None
    roots: tuple[Mapping[str, Any], ...] = ()
    sessions_max: int | None = None
    keeps: bool = True
    idle_s: float = IDLE_S
    start_within_s: float = START_WITHIN_S
    restart: Restart = field(default_factory=Restart)

    @property
    def named(self) -> str:
        """The server as a person knows it."""
        return self.url or (self.command or ("?",))[0]


def read_definition(
    profile: Mapping[str, Any], worker: Mapping[str, str], secret_values: Iterable[str] = ()
) -> ServerDefinition:
    """The server of a profile.

    Args:
        worker: the worker's variables.
        secret_values: what is masked besides the server's own secrets.

    Raises:
        MissingSecretError: this worker lacks a secret.
        HostError: the file of secrets can't be read, or the definition makes no sense.
    """
    server: Mapping[str, Any] = profile["server"]
    secrets = _secrets(server, worker)
    headers = {str(k): _filled(str(v), secrets) for k, v in (server.get("headers") or {}).items()}
    roots = tuple(_root(uri) for uri in server.get("roots") or ())
    return ServerDefinition(
        key=hashlib.sha256(json.dumps([server, secrets], sort_keys=True).encode()).hexdigest(),
        mask=Mask([*secret_values, *secrets.values()]),
        command=tuple(map(str, server["command"])) if server.get("command") else None,
        url=server.get("url"),
        cwd=server.get("cwd"),
        environment=_environment(server, worker, secrets),
        headers=headers,
        capabilities=declared(server.get("asks", ASKS), has_roots=bool(roots)),
        roots=roots,
        sessions_max=server.get("sessions"),
        keeps=server.get("idleS", IDLE_S) > 0,
        idle_s=float(server.get("idleS", IDLE_S)),
        start_within_s=float(server.get("startWithinS", START_WITHIN_S)),
        restart=_restart(server.get("restart") or {}),
    )


def declared(asks: Iterable[str], *, has_roots: bool) -> dict[str, Any]:
    """The client capabilities of a definition."""
    found: dict[str, Any] = {"roots": {}} if has_roots else {}
    if "elicitation" in asks:
        found["elicitation"] = {"form": {}, "url": {}}
    if "sampling" in asks:
        found["sampling"] = {}
    return found


def _restart(given: Mapping[str, Any]) -> Restart:
    names = {"policy": "policy", "delayS": "delay_s", "delayMaxS": "delay_max_s", "attemptsMax": "attempts_max"}
    return Restart(**{names[name]: value for name, value in given.items() if name in names})


def _root(uri: str) -> dict[str, str]:
    return {"uri": uri, "name": uri.rstrip("/").rpartition("/")[2] or uri}


def _environment(server: Mapping[str, Any], worker: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    allowed = PASSED.union(map(str, server.get("envAllow") or ()))
    passed = {name: value for name, value in worker.items() if name in allowed or name.startswith(PASSED_PREFIX)}
    own = {str(name): str(value) for name, value in (server.get("env") or {}).items()}
    return {"PATH": PATH_DEFAULT, "TERM": "dumb", **passed, **own, **secrets}


def _secrets(server: Mapping[str, Any], worker: Mapping[str, str]) -> dict[str, str]:
    filed = _filed(str(server["secretsFile"])) if server.get("secretsFile") else {}
    names = [str(name) for name in server.get("secrets") or ()]
    known = known_secrets(names, worker)
    missing = [name for name in names if name not in known and name not in filed]
    if missing:
        raise MissingSecretError(
            f"this worker has no variable {', '.join(missing)}, which the server needs as a secret"
        )
    return {**known, **filed}


def _filed(path: str) -> dict[str, str]:
    """A file of secrets: one JSON object of texts."""
    try:
        text = Path(path).read_bytes()[: SECRETS_FILE_MAX + 1]
        found = json.loads(text) if len(text) <= SECRETS_FILE_MAX else None
    except (OSError, ValueError) as error:
        raise HostError(f"the server's file of secrets can't be read: {type(error).__name__}") from None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise HostError(
            f"the server's file of secrets must be one JSON object of texts, {SECRETS_FILE_MAX} bytes at most"
        )
    return found


def _filled(text: str, secrets: Mapping[str, str]) -> str:
    """A header with each `${NAME}` replaced by the secret of that name."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in secrets:
            raise HostError(f"a header refers to ${{{found[1]}}}, which is not among the server's secrets")
        return secrets[found[1]]

    return _REFERENCE.sub(value, text)
