"""The only reader of the environment.

Two audiences with different needs share this package. A client asks *where is the server and who am I*
(`find_connection`), a server *how shall I run* (`load_server_settings`). Both answers come from the standard library,
except for the check of a server's settings, which is pydantic's and imported only when somebody asks for it.

Precedence everywhere: a flag beats a variable, a variable beats the `[server]` table of `ringback.toml`.
"""

from typing import TYPE_CHECKING, Any

from ringback.settings.connection import Connection, find_connection
from ringback.settings.errors import SettingsError
from ringback.settings.places import Places, default_data_folder

if TYPE_CHECKING:
    from ringback.settings.checking import load_server_settings
    from ringback.settings.server import ServerSettings

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
    """Import the server's half on first use only."""
    if name == "load_server_settings":
        from ringback.settings import checking

        return checking.load_server_settings
    if name == "ServerSettings":
        from ringback.settings import server

        return server.ServerSettings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
