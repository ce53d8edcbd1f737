"""The only reader of the environment.

Two audiences with different needs share this package. A client asks *where is the server and who am I*
(`find_connection`): it answers from the standard library alone, because the command line imports it on every start.
A server asks *how shall I run* (`ServerSettings`): pydantic-settings checks that, and is imported only when asked for.

Precedence everywhere: a flag beats a variable, a variable beats the `[server]` table of `ringback.toml`.
"""

from typing import TYPE_CHECKING, Any

from ringback.settings.connection import Connection, find_connection
from ringback.settings.errors import SettingsError
from ringback.settings.places import Places, default_data_folder

if TYPE_CHECKING:
    from ringback.settings.server import ServerSettings, load_server_settings

__all__ = [
    "Connection",
    "Places",
    "ServerSettings",
    "SettingsError",
    "default_data_folder",
    "find_connection",
    "load_server_settings",
]


def __getattr__(name: str) -> Any:
    """Import the pydantic half on first use only."""
    if name in {"ServerSettings", "load_server_settings"}:
        from ringback.settings import server

        return getattr(server, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
