"""Words of the command line turned into values, without loading pydantic for it.

Typer 0.29 coerces every parameter through pydantic, which costs 190 ms on each start. Our parameters are text, numbers,
paths and lists of text, so a few lines do. They are put where Typer keeps what it would otherwise build on first use
(`_runtime_param`); should a later version look elsewhere, commands become slower and stay right.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

READERS: dict[type, Callable[[Any], Any]] = {str: str, int: int, float: float, bool: bool, Path: Path}
WANTED = {int: "a whole number", float: "a number"}


class Coercion:
    """How one parameter's words are read."""

    def __init__(self, kind: type, least: float | None, most: float | None) -> None:
        """`least` and `most` bound a number, both included."""
        self._kind, self._least, self._most = kind, least, most

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """What Typer calls."""
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        try:
            return [self._read(word) for word in value] if is_list else self._read(value)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong), ctx=ctx, param=param) from None

    def _read(self, word: Any) -> Any:
        try:
            value = READERS[self._kind](word)
        except ValueError:
            raise ValueError(f"{word!r} is not {WANTED.get(self._kind, 'valid')}.") from None
        if self._least is not None and value < self._least:
            raise ValueError(f"{word} is less than {self._least}.")
        if self._most is not None and value > self._most:
            raise ValueError(f"{word} is more than {self._most}.")
        return value


class QuickCommand(TyperCommand):
    """A command whose parameters are read by `Coercion`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All of them, `--help` included, before Typer reads any."""
        return _quick(super().get_params(ctx))


class QuickGroup(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """See `QuickCommand`."""
        return _quick(super().get_params(ctx))


def _quick(params: list[Any]) -> list[Any]:
    for param in params:
        annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
        kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
        if kind in READERS:
            param._runtime_param = Coercion(kind, param.min, param.max)
    return params
