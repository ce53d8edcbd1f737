"""What a tool may use through its context: values that its tool keeps, secrets by name, the configuration of its run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from . import wire
from .jsonable import to_json
from .signals import CapabilityRefusedError, ValueChangedError

if TYPE_CHECKING:
    from .line import Line

VALUE_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class Stored:
    """A value that a tool keeps. `version` grows with each write; 0, with no value, means that there never was one."""

    value: Any = None
    version: int = 0


class Values:
    """Small values that outlive runs: `await ctx.kv.read(…)`, in a sync tool without `await`.

    They belong to the tool in its project: all of its runs see the same ones. A value has at most 64 KiB of JSON, and a tool
    1,000 values.
    """

    __slots__ = ("_line",)

    def __init__(self, line: "Line") -> None:
        self._line = line

    def read(self, key: str, /) -> Any:
        """The value kept under `key`, as a `Stored`."""
        return self._use("kv.read", {"key": key}, _stored)

    def write(self, key: str, value: Any, /, *, if_version: int | None = None) -> Any:
        """Keep a value; returns a `Stored` with its version.

        Args:
            if_version: only if this is the version now (0: only if there was none yet).

        Raises:
            ValueChangedError: it is of another version; `current` has it.
        """
        to_json(value, limit=VALUE_MAX)
        return self._use("kv.write", {"key": key, "value": value, **_expected(if_version)}, _written)

    def delete(self, key: str, /, *, if_version: int | None = None) -> Any:
        """Keep no value under `key` any more; the version goes on growing."""
        return self._use("kv.write", {"key": key, "delete": True, **_expected(if_version)}, _written)

    def _use(self, capability: str, members: dict[str, Any], then: Callable[[Any], Stored]) -> Any:
        self._line.check()
        if self._line.is_async:
            return self._use_async(capability, members, then)
        return then(told(self._line.use(capability, members)))

    async def _use_async(self, capability: str, members: dict[str, Any], then: Callable[[Any], Stored]) -> Stored:
        return then(told(await self._line.use_async(capability, members)))


def told(frame: wire.Used) -> Any:
    """What came back.

    Raises:
        CapabilityRefusedError: it was refused, and why.
    """
    if frame.refusal is not None:
        raise CapabilityRefusedError(frame.refusal)
    return msgspec.json.decode(frame.answer)


def _expected(version: int | None) -> dict[str, int]:
    return {} if version is None else {"ifVersion": version}


def _stored(answer: dict[str, Any]) -> Stored:
    return Stored(answer.get("value"), answer["version"])


def _written(answer: dict[str, Any]) -> Stored:
    stored = _stored(answer)
    if not answer["written"]:
        raise ValueChangedError(stored)
    return stored
