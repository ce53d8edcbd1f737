"""Writes `contracts/openapi.json` from the table of routes; a test compares what is checked in with a fresh one."""

from __future__ import annotations

from pathlib import Path

from ringback import __version__
from ringback.api.app import endpoints
from ringback.api.openapi import document

TARGET = Path(__file__).resolve().parent.parent / "contracts" / "openapi.json"


def main() -> None:
    """Write the file."""
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(document(endpoints(), version=__version__))


if __name__ == "__main__":
    main()
