"""How a server and its local worker run. Plain values: the server lives long, so it does not carry what checked them.

Who gathers and checks them is `ringback.settings.checking`.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from ringback.settings.places import Places, default_data_folder


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Every setting of `ringback up`.

    Attributes:
        store: the ledger's address; empty for SQLite in the data folder.
        slots: of the local worker; None leaves it to the worker.
        app: `module:app` with function tools of the local worker.
        file: the file of tools; None for the one of the working directory, if there is one.
        requests_per_s: what one token may ask for in the long run; 0 sets no limit.
        requests_burst: how many requests of one token may come at once, where there is a limit.
        public_url: the address at which people reach the server, for links; empty: as whoever makes a link reaches it.
        drain_s: how long an asked-for end may take in all.
    """

    data: Path = field(default_factory=default_data_folder)
    host: str = "127.0.0.1"
    port: int = 7878
    store: str = ""
    dispatch: str = "builtin"
    no_worker: bool = False
    slots: int | None = None
    pool: str = "default"
    app: str | None = None
    file: Path | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "console", "json"] = "auto"
    drain_s: float = 10.0
    lease_s: float = 15.0
    heartbeat_s: float = 5.0
    retention_days: float = 30.0
    requests_per_s: float = 0.0
    requests_burst: int = 100
    public_url: str = ""

    # Named as pydantic names them, so that readers need not know which kind of class this is.
    model_fields: ClassVar[Mapping[str, Any]]

    @property
    def places(self) -> Places:
        """The files of the data folder."""
        return Places(self.data)

    @property
    def store_url(self) -> str:
        """The ledger's address; without one given, SQLite in the data folder."""
        return self.store or f"sqlite:///{self.places.database}"

    def model_dump_json(self) -> str:
        """For another process of ours, on one line."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """What `model_dump_json` wrote; nothing is checked again."""
        values = json.loads(text)
        return cls(**values | {"data": Path(values["data"]), "file": values["file"] and Path(values["file"])})


ServerSettings.model_fields = {each.name: each for each in fields(ServerSettings)}
