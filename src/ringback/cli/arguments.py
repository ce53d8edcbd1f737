"""`suite=unit retries=3` turned into the values that a tool's input schema asks for.

The schema decides how a word is read, so `version=1.10` stays text where text is wanted. `key:=JSON` is always JSON. What the
schema does not explain is sent as text, and the server says what is wrong with it.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

_LITERALS = {"true": True, "false": False, "null": None}


class ArgumentError(ValueError):
    """A word on the command line that cannot be an argument."""

    code = "usage"


def read_arguments(words: Iterable[str], schema: Mapping[str, Any], whole: str | None = None) -> dict[str, Any]:
    """The arguments object.

    Args:
        words: `key=value` or `key:=JSON`; a repeated key makes a list where the schema wants one.
        schema: the tool's input schema.
        whole: a JSON object that the words are laid over.

    Raises:
        ArgumentError: says which word, and what would be right.
    """
    arguments = _object(whole) if whole is not None else {}
    named: set[str] = set()
    for word in words:
        key, separator, text = word.partition("=")
        if not separator or key in {"", ":"}:
            raise ArgumentError(f"{word!r} is not key=value (or key:=JSON)")
        is_json = key.endswith(":")
        key = key.removesuffix(":")
        wanted = schema.get("properties", {}).get(key, {})
        value = read_json(text, word) if is_json else _read(text, wanted, word)
        if key in named:
            value = _repeated(arguments[key], value, word)
        arguments[key] = value
        named.add(key)
    return arguments


def _read(text: str, wanted: Mapping[str, Any], word: str) -> Any:
    types = _types(wanted)
    if "array" in types and not text.startswith("["):
        return [_read(text, wanted.get("items") or {}, word)]
    if not types or "string" in types:
        return text
    if types & {"array", "object"}:
        return read_json(text, word)
    return _scalar(text, types, word)


def _scalar(text: str, types: set[str], word: str) -> Any:
    if text in _LITERALS and types & ({"null"} if text == "null" else {"boolean"}):
        return _LITERALS[text]
    for name, number in (("integer", int), ("number", float)):
        if name in types:
            try:
                return number(text)
            except ValueError:
                continue
    raise ArgumentError(f"{word!r}: the tool wants {' or '.join(sorted(types))} here")


def _types(wanted: Mapping[str, Any]) -> set[str]:
    """The JSON types that a property's schema allows; empty when it does not say."""
    named = wanted.get("type", ())
    types = {named} if isinstance(named, str) else set(named)
    for choice in (*wanted.get("anyOf", ()), *wanted.get("oneOf", ())):
        types |= _types(choice)
    if not types:
        values = [wanted["const"]] if "const" in wanted else wanted.get("enum", ())
        types = {_TYPE_NAMES.get(type(value), "string") for value in values}
    return types


_TYPE_NAMES = {bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array", dict: "object"}


def _repeated(earlier: Any, value: Any, word: str) -> Any:
    if not isinstance(earlier, list) or not isinstance(value, list):
        raise ArgumentError(f"{word!r}: this argument was given before")
    return earlier + value


def read_json(text: str, word: str) -> Any:
    """The value that `text` is; `word` is what the user wrote it as.

    Raises:
        ArgumentError: it is no JSON.
    """
    try:
        return json.loads(text)
    except ValueError as broken:
        raise ArgumentError(f"{word!r}: not JSON: {broken}") from None


def _object(text: str) -> dict[str, Any]:
    value = read_json(text, "--args")
    if not isinstance(value, dict):
        raise ArgumentError("--args must be a JSON object")
    return value
