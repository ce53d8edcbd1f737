"""What is wrong with a setting, in one line that says where it came from and what to do.

SettingsError (a ValueError)      always shown as it is; never carries a secret's value
"""

from collections.abc import Iterable
from difflib import get_close_matches


class SettingsError(ValueError):
    """A setting that cannot be used. Its text is one line for a person."""

    code = "settings_invalid"


def unknown_key(key: str, *, where: str, known: Iterable[str]) -> SettingsError:
    """An error for a key that nobody reads, with the nearest one that somebody does."""
    names = sorted(known)
    nearest = get_close_matches(key.lower().replace("-", "_"), [name.lower() for name in names], n=1, cutoff=0.0)
    by_lower = {name.lower(): name for name in names}
    hint = f"; the nearest known key is `{by_lower[nearest[0]]}`" if nearest else ""
    return SettingsError(f"unknown key `{key}` in {where}{hint}")
