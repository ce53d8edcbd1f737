"""How a server and its local worker run: checked values from flags, `RINGBACK_*` and the `[server]` table.

Absent on purpose: tools (they live in the ledger), and anything a client needs (see `connection`).
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ringback.settings.errors import SettingsError, unknown_key
from ringback.settings.places import Places, default_data_folder

TOOL_FILE = "ringback.toml"
PREFIX = "RINGBACK_"
# Variables of other readers: the client's three, and what a worker puts into the environment of the work itself.
CLIENT_VARIABLES = frozenset({"RINGBACK_URL", "RINGBACK_TOKEN", "RINGBACK_PROJECT"})
INSIDE_WORK = "RINGBACK_ATTEMPT"
STORE_SCHEMES = ("sqlite://", "postgresql://", "postgres://")


class ServerSettings(BaseSettings):
    """Every setting of `ringback up`. Frozen; JSON made by `model_dump_json` loads again with `model_validate_json`."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True)

    data: Path = Field(default_factory=default_data_folder)
    host: str = "127.0.0.1"
    port: int = Field(default=7878, ge=0, le=65535)
    store: str = ""
    dispatch: str = "builtin"
    no_worker: bool = False
    slots: int | None = Field(default=None, ge=1, le=1024)
    pool: str = Field(default="default", min_length=1, max_length=64)
    app: str | None = None
    file: Path | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "console", "json"] = "auto"
    drain_s: float = Field(default=10.0, ge=0, le=3600)
    lease_s: float = Field(default=15.0, ge=1, le=3600)
    heartbeat_s: float = Field(default=5.0, ge=1, le=1200)
    retention_days: float = Field(default=30.0, gt=0)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Values are gathered by `load_server_settings`, which knows where each came from; nothing is read twice."""
        return (init_settings,)

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

    @field_validator("dispatch")
    @classmethod
    def _dispatch_is_known(cls, name: str) -> str:
        if name != "builtin" and not name.startswith("temporal://"):
            raise ValueError("must be `builtin` or start with temporal://")
        return name

    @property
    def places(self) -> Places:
        """The files of the data folder."""
        return Places(self.data)

    @property
    def store_url(self) -> str:
        """The ledger's address; without one given, SQLite in the data folder."""
        return self.store or f"sqlite:///{self.places.database}"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The settings that another process of ours wrote with `model_dump_json`."""
        return cls.model_validate_json(text)


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
    values = {"data": default_data_folder(env)} | table | variables | given
    try:
        return ServerSettings(**values)
    except ValidationError as invalid:
        raise _explained(invalid, origin) from None


def _variables(env: Mapping[str, str]) -> dict[str, str]:
    known = {PREFIX + key.upper(): key for key in ServerSettings.model_fields}
    found: dict[str, str] = {}
    for name, value in env.items():
        if name in known:
            if value:
                found[known[name]] = value
        elif name.startswith(PREFIX) and name not in CLIENT_VARIABLES and INSIDE_WORK not in env:
            raise unknown_key(name, where="the environment", known=known)
    return found


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
        if key not in ServerSettings.model_fields:
            raise unknown_key(key, where=f"[server] of {file.name}", known=ServerSettings.model_fields)
    if "data" in table:
        table["data"] = file.absolute().parent / Path(str(table["data"])).expanduser()
    return table


def _explained(invalid: ValidationError, origin: Mapping[str, str]) -> SettingsError:
    first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
    key = str(first["loc"][0]) if first["loc"] else "settings"
    message = first["msg"].removeprefix("Value error, ")
    return SettingsError(f"{origin.get(key, key)}: {message[:1].lower()}{message[1:]}")
