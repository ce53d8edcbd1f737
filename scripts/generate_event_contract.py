"""Writes the event stream's JSON Schema and AsyncAPI document into `contracts/<version>/`; a test compares them."""

from __future__ import annotations

from pathlib import Path

from ringback.mcp.builtin import CONTRACT_VERSION
from ringback.views.event_contract import SCHEMA, async_api, event_schema, text_of_document

FOLDER = Path(__file__).parent.parent / "contracts" / CONTRACT_VERSION


def texts() -> dict[Path, str]:
    """What belongs into each file."""
    return {
        FOLDER / SCHEMA: text_of_document(event_schema(version=CONTRACT_VERSION)),
        FOLDER / "asyncapi.json": text_of_document(async_api(version=CONTRACT_VERSION)),
    }


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for place, text in texts().items():
        place.write_text(text, encoding="utf-8")
