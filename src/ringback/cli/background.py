"""`ringback up --detach`: the same `up`, in a session of its own, with its log in the data folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ringback.client.embedded import spawn_up
from ringback.settings.places import Places, default_data_folder


def start_detached(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Start it and wait until it is ready.

    Args:
        flags: settings by name of field; None means not given.

    Returns: what `up --json` says, and where its log is.

    Raises:
        UnreachableError: it did not start; the text says why.
    """
    data = flags.get("data")
    places = Places(Path(data).expanduser().absolute() if data else default_data_folder())
    _, said = spawn_up(places, ["--data", str(places.data), *_options(flags)])
    return {**said, "log_file": str(places.log)}


def _options(flags: Mapping[str, Any]) -> list[str]:
    options: list[str] = []
    for name, value in flags.items():
        flag = "--drain" if name == "drain_s" else f"--{name.replace('_', '-')}"
        if value is True:
            options.append(flag)
        elif value is not None and name != "data":
            options += [flag, str(value)]
    return options
