"""SQL by name: `common/` holds what the dialects share, a dialect's folder overrides it."""

from __future__ import annotations

from importlib.resources import files
from typing import Literal, TypeAlias

Dialect: TypeAlias = Literal["sqlite"]


def load(dialect: Dialect) -> dict[str, str]:
    """All statements for `dialect`, keyed by file name without `.sql`."""
    root = files("ringback.store") / "sql"
    return {
        entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8")
        for folder in ("common", dialect)  # the later wins
        for entry in (root / folder).iterdir()
        if entry.name.endswith(".sql")
    }


def migrations(dialect: Dialect) -> list[tuple[str, str]]:
    """`(name, script)` of every migration for `dialect`, in order."""
    folder = files("ringback.store") / "migrations" / dialect
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return sorted((entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8")) for entry in found)
