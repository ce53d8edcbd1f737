"""What the programs inside an attempt find in their environment: the server, and the token of the attempt.

The token is no caller's: it asks people on behalf of this one attempt and opens nothing else. So it is not in `connection`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ringback.settings.connection import URL_SCHEMES
from ringback.settings.errors import SettingsError


@dataclass(frozen=True, slots=True)
class AttemptConnection:
    """The server of the attempt, and its token."""

    url: str
    token: str = field(repr=False)


def find_attempt(command: str, environ: Mapping[str, str] | None = None) -> AttemptConnection:
    """The attempt that this process belongs to.

    Args:
        command: what needs to know, for the message.

    Raises:
        SettingsError: the process runs in none.
    """
    env = os.environ if environ is None else environ
    url, token = env.get("RINGBACK_URL", ""), env.get("RINGBACK_RUN_TOKEN", "")
    if not token or not url.startswith(URL_SCHEMES):
        raise SettingsError(
            f"`ringback {command}` works inside a job only: a worker gives its commands RINGBACK_URL and RINGBACK_RUN_TOKEN"
        )
    return AttemptConnection(url.rstrip("/"), token)
