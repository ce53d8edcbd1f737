"""Writes `contracts/<version>/mcp-tools.json`: the tools that every project has, as hosts read them. A test compares it."""

from __future__ import annotations

import json
from pathlib import Path

from ringback.mcp.builtin import CONTRACT_VERSION, contract

PLACE = Path(__file__).parent.parent / "contracts" / CONTRACT_VERSION / "mcp-tools.json"


def text() -> str:
    return json.dumps(contract(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    PLACE.write_text(text(), encoding="utf-8")
