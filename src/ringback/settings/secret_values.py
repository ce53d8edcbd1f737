"""Secrets of the server, by the names that definitions use for them: read when they are needed, kept by nobody.

Who may write a definition may name any secret in it. So the server lends only what its operator means for that: the secret
`NAME` is the variable `RINGBACK_SECRET_NAME`, and no other variable of the server is one.
"""

import os
from collections.abc import Mapping

PREFIX = "RINGBACK_SECRET_"


def secret_value(name: str, *, environ: Mapping[str, str] | None = None) -> str | None:
    """The value of the server's secret `name`, None if there is none."""
    return (os.environ if environ is None else environ).get(PREFIX + name) or None
