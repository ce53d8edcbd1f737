"""Gathers the server's settings from flags, `RINGBACK_*` and the `[server]` table, and checks them.

pydantic reads the values (`"true"`, `"7878"`) and knows the ranges. It is imported here only, by the command that starts a
server and for the blink before it becomes another process.

Absent on purpose: tools (they live in the ledger), and anything a client needs (see `connection`).
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ringback.settings.connection import URL_SCHEMES
from ringback.settings.errors import SettingsError, unknown_key
from ringback.settings.places import default_data_folder
from ringback.settings.secret_values import PREFIX as SECRETS
from ringback.settings.server import ServerSettings

TOOL_FILE = "ringback.toml"
PREFIX = "RINGBACK_"
# Variables of other readers: the client's three, the worker's two, and what it puts into the environment of the work itself.
OTHERS = frozenset({"URL", "TOKEN", "PROJECT", "PARENT", "OWNER_TOKEN", "SECRETS_DIR"})
INSIDE_WORK = "RINGBACK_ATTEMPT"
STORE_SCHEMES = ("sqlite://", "postgresql://", "postgres://")


class Checked(BaseModel):
    """The ranges of `ServerSettings`; its names and defaults are that class's."""

    model_config = ConfigDict(extra="forbid")

    data: Path
    host: str = Field(ServerSettings.host, min_length=1, max_length=253)
    port: int = Field(ServerSettings.port, ge=0, le=65535)
    store: str = ServerSettings.store
    dispatch: str = ServerSettings.dispatch
    no_worker: bool = ServerSettings.no_worker
    slots: int | None = Field(ServerSettings.slots, ge=1, le=1024)
    pool: str = Field(ServerSettings.pool, min_length=1, max_length=64)
    app: str | None = ServerSettings.app
    file: Path | None = ServerSettings.file
    log_level: Literal["debug", "info", "warning", "error"] = ServerSettings.log_level
    log_format: Literal["auto", "console", "json"] = ServerSettings.log_format
    drain_s: float = Field(ServerSettings.drain_s, ge=0, le=3600)
    lease_s: float = Field(ServerSettings.lease_s, ge=3, le=3600)  # a heartbeat a second at most, and it may fail twice
    heartbeat_s: float = Field(ServerSettings.heartbeat_s, ge=1, le=1200)
    retention_days: float = Field(ServerSettings.retention_days, gt=0, le=36_600)
    requests_per_s: float = Field(ServerSettings.requests_per_s, ge=0, le=1_000_000)
    requests_burst: int = Field(ServerSettings.requests_burst, ge=1, le=1_000_000)
    public_url: str = ServerSettings.public_url

    @field_validator("data", "file")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        return None if path is None else path.expanduser().absolute()

    @field_validator("store")
    @classmethod
    def _store_is_known(cls, url: str) -> str:
        if url and not url.startswith(STORE_SCHEMES):
            raise ValueError("must start with sqlite:// or postgresql://")
        return url

    @field_validator("public_url")
    @classmethod
    def _address_is_one(cls, url: str) -> str:
        if url and not url.startswith(URL_SCHEMES):
            raise ValueError("must start with http:// or https://")
        return url.rstrip("/")

    @field_validator("dispatch")
    @classmethod
    def _dispatch_is_known(cls, name: str) -> str:
        if name != "builtin" and not name.startswith("temporal://"):
            raise ValueError("must be `builtin` or start with temporal://")
        return name


def load_server_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> ServerSettings:
    """Gather flags (those that are not None), variables and the tool file's `[server]`, in this precedence.

    Args:
        flags: names of fields; None means *not given*.
        environ: instead of the process's own.
        folder: where `ringback.toml` is looked for unless `file` names one; the working directory if None.

    Raises:
        SettingsError: one line that names the key and where it came from.
    """
    env = os.environ if environ is None else environ
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    variables = _variables(env)
    file = Path(given.get("file") or variables.get("file") or (folder or Path.cwd()) / TOOL_FILE)
    table = _server_table(file)
    origin = dict.fromkeys(table, f"[server] of {file.name}")
    origin |= {key: PREFIX + key.upper() for key in variables}
    origin |= {key: f"--{key.replace('_', '-')}" for key in given}
    try:
        checked = Checked(**{"data": default_data_folder(env)} | table | variables | given)
    except ValidationError as invalid:
        raise _explained(invalid, origin) from None
    return ServerSettings(**checked.model_dump())


def _variables(env: Mapping[str, str]) -> dict[str, str]:
    known = {PREFIX + key.upper(): key for key in Checked.model_fields}
    found: dict[str, str] = {}
    for name, value in env.items():
        if name in known:
            if value:
                found[known[name]] = value
        elif _is_strange(name) and INSIDE_WORK not in env:
            raise unknown_key(name, where="the environment", known=known)
    return found


def _is_strange(name: str) -> bool:
    return name.startswith(PREFIX) and name.removeprefix(PREFIX) not in OTHERS and not name.startswith(SECRETS)


def _server_table(file: Path) -> dict[str, Any]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("server", {})
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as broken:
        raise SettingsError(f"{file.name} cannot be read: {broken}") from None
    if not isinstance(table, dict):
        raise SettingsError(f"[server] of {file.name} must be a table")
    for key in table:
        if key not in Checked.model_fields:
            raise unknown_key(key, where=f"[server] of {file.name}", known=Checked.model_fields)
    if "data" in table:
        table["data"] = file.absolute().parent / Path(str(table["data"])).expanduser()
    return table


def _explained(invalid: ValidationError, origin: Mapping[str, str]) -> SettingsError:
    first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
    key = str(first["loc"][0]) if first["loc"] else "settings"
    message = first["msg"].removeprefix("Value error, ")
    return SettingsError(f"{origin.get(key, key)}: {message[:1].lower()}{message[1:]}")
