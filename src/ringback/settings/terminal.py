"""What the environment says about the terminal: the two conventions that every program should follow."""

import os
from collections.abc import Mapping


def wants_colours(environ: Mapping[str, str] | None = None) -> bool:
    """False when the user set `NO_COLOR` (no-color.org), or the terminal says that it is dumb."""
    env = os.environ if environ is None else environ
    return not env.get("NO_COLOR") and env.get("TERM") != "dumb"
