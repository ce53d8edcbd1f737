"""Where a client connects and as whom: flags, then `RINGBACK_URL`, `RINGBACK_TOKEN`, `RINGBACK_PROJECT`, then the data folder.

The local owner's token opens everything on this machine, so it is never sent to an address that the data folder does
not name itself: with a foreign `RINGBACK_URL` a token must be given.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ringback.settings.errors import SettingsError
from ringback.settings.places import Places, default_data_folder

LOOPBACK = ("localhost", "::1", "0.0.0.0")  # noqa: S104 - compared with, never bound
URL_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Connection:
    """An address and the identity to use there. `url` is None when no server is known."""

    url: str | None
    token: str | None
    project: str | None
    places: Places
    is_local: bool

    def __repr__(self) -> str:
        """Never shows the token."""
        return f"Connection(url={self.url!r}, project={self.project!r}, data={str(self.places.data)!r})"


def find_connection(
    *,
    url: str | None = None,
    token: str | None = None,
    project: str | None = None,
    data: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Connection:
    """Resolve what a client needs; reads files, opens no socket.

    A data folder named by the caller means *the server of that folder*: it beats `RINGBACK_URL`.

    Raises:
        SettingsError: the address is not an http(s) URL, or `server.json` is not what a server writes.
    """
    env = os.environ if environ is None else environ
    places = Places(Path(data).expanduser().absolute() if data is not None else default_data_folder(env))
    named = url or (None if data is not None else env.get("RINGBACK_URL") or None)
    recorded = recorded_url(places)
    address = _checked(named) if named else recorded
    is_local = address is not None and address == recorded
    secret = token or env.get("RINGBACK_TOKEN") or None
    if data is not None and not token and is_local:
        secret = owner_token(places) or secret
    elif secret is None and is_local:
        secret = owner_token(places)
    return Connection(address, secret, project or env.get("RINGBACK_PROJECT") or None, places, is_local)


def recorded_url(places: Places) -> str | None:
    """The address that the data folder's server wrote down, or None when there is none."""
    record = recorded_server(places)
    return None if record is None else _checked(str(record["url"]))


def recorded_server(places: Places) -> Mapping[str, object] | None:
    """The data folder's `server.json`, or None when no server wrote one (or is just writing it)."""
    try:
        record = json.loads(places.server.read_bytes())
    except (FileNotFoundError, NotADirectoryError, PermissionError, json.JSONDecodeError):
        return None
    return record if isinstance(record, dict) and "url" in record else None


def _checked(url: str) -> str:
    if not url.startswith(URL_SCHEMES):
        raise SettingsError(f"the server's address must start with http:// or https://, not {url!r}")
    return url.rstrip("/")


def owner_token(places: Places) -> str | None:
    """The local owner's token, or None when there is none or it is not ours to read."""
    try:
        return places.token.read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def is_loopback(url: str) -> bool:
    """Whether the address is this machine's own."""
    host = urlsplit(url).hostname or ""
    return host in LOOPBACK or host.startswith("127.")
