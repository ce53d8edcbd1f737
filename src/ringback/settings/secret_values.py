"""Secrets of the server, by the names that definitions use for them: read when they are needed, kept by nobody."""

import os
from collections.abc import Mapping

OURS = "RINGBACK_"


def secret_value(name: str, *, environ: Mapping[str, str] | None = None) -> str | None:
    """The value of the variable `name`, None if there is none. Ringback's own variables are no secrets of tools."""
    env = os.environ if environ is None else environ
    return None if name.startswith(OURS) else env.get(name) or None
