"""A function's signature as a contract: the JSON Schema of its arguments, and the decoder that enforces it.

Both come from one generated struct, so what the schema promises is what the function gets: a dataclass parameter
receives an instance, an enum a member, a `datetime` a moment. A parameter annotated `Context` is recognised, whatever
its name, and is not part of the arguments. Pydantic models are understood without being imported.
"""

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from .context import Context

Shape = Literal["plain", "coroutine", "generator", "async_generator"]

_SIMPLE: Final = (type(None), bool, int, float, str, Enum)
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_MEMBER: Final = re.compile(r"field `(.*)`")
_REFERENCE: Final = "#/$defs/{name}"
_STRUCT_NAME: Final = "ringback_arguments"


class SignatureError(TypeError):
    """The signature can't be offered as a tool; the message names the function and the parameter."""


class ArgumentsError(Exception):
    """The arguments don't fit the signature; `pointer` is the JSON pointer of the first that doesn't."""

    def __init__(self, message: str, pointer: str) -> None:
        super().__init__(message)
        self.pointer = pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What calling a function takes."""

    shape: Shape
    context_parameter: str | None
    input_schema: dict[str, Any]
    _names: tuple[str, ...]
    _decode: Callable[[bytes], Any]

    def arguments(self, encoded: Raw) -> dict[str, Any]:
        """The keyword arguments that the JSON stands for; a parameter left to its default is absent.

        Raises:
            ArgumentsError: they don't fit.
        """
        try:
            struct = self._decode(bytes(encoded))
        except msgspec.DecodeError as error:  # msgspec.ValidationError is one
            raise _explained(str(error)) from None
        given = ((name, getattr(struct, name)) for name in self._names)
        return {name: value for name, value in given if value is not UNSET}


def read_signature(function: Callable[..., Any]) -> Signature:
    """Read a function's signature.

    Raises:
        SignatureError: a parameter can't be given by name, or its type has no JSON form.
    """
    hints = _hints(function)
    fields: list[tuple[str, Any, Any]] = []
    context_parameter: str | None = None
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = hints.get(name, Any)
        if _is_context(annotation):
            context_parameter = name
        elif parameter.kind not in _NAMED:
            raise SignatureError(f"{_called(function)}: parameter {name!r} can't be given by name")
        else:
            fields.append(_field(name, annotation, parameter.default))
    try:
        struct = msgspec.defstruct(_STRUCT_NAME, fields, kw_only=True, forbid_unknown_fields=True)
        schema = _schema_of(struct)
        decoder = msgspec.json.Decoder(struct, dec_hook=_decode_foreign)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise SignatureError(f"{_called(function)}: {error}") from None
    return Signature(
        shape=_shape(function),
        context_parameter=context_parameter,
        input_schema=schema,
        _names=tuple(name for name, _, _ in fields),
        _decode=decoder.decode,
    )


def _called(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function))


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        raise SignatureError(f"{_called(function)}: an annotation can't be resolved: {error}") from None


def _is_context(annotation: Any) -> bool:
    return annotation is Context or Context in get_args(annotation)


def _shape(function: Callable[..., Any]) -> Shape:
    if inspect.isasyncgenfunction(function):
        return "async_generator"
    if inspect.iscoroutinefunction(function):
        return "coroutine"
    if inspect.isgeneratorfunction(function):
        return "generator"
    return "plain"


def _field(name: str, annotation: Any, default: Any) -> tuple[str, Any, Any]:
    described = _described(annotation)
    if default is inspect.Parameter.empty:
        return (name, described, msgspec.NODEFAULT)
    if isinstance(default, _SIMPLE):
        return (name, described, default)
    return (name, Union[described, UnsetType], UNSET)  # noqa: UP007 - built at run time


def _described(annotation: Any) -> Any:
    """`Annotated[T, "text"]`, and anything with a `description`, as a description in the schema."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *extras = get_args(annotation)
    for extra in extras:
        if isinstance(extra, Meta):
            kind = Annotated[kind, extra]
            continue
        text = extra if isinstance(extra, str) else getattr(extra, "description", None)
        if isinstance(text, str):
            kind = Annotated[kind, Meta(description=text)]
    return kind


def _schema_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    foreign: dict[str, Any] = {}

    def describe(kind: type) -> dict[str, Any]:
        schema = getattr(kind, "model_json_schema", None)
        if schema is None:
            raise NotImplementedError(f"the type {kind!r} has no JSON form")
        described: dict[str, Any] = schema(ref_template="#/$defs/{model}")
        foreign.update(described.pop("$defs", {}))
        return described

    _, components = msgspec.json.schema_components([struct], schema_hook=describe, ref_template=_REFERENCE)
    schema: dict[str, Any] = components.pop(_STRUCT_NAME)
    del schema["title"]
    if definitions := {**foreign, **components}:
        schema["$defs"] = definitions
    return schema


def _decode_foreign(kind: Any, value: Any) -> Any:
    return kind.model_validate(value)


def _explained(message: str) -> ArgumentsError:
    """Msgspec's `… - at `$.a.b[0]`` (a missing or unknown member stands in the text) as a JSON pointer."""
    text, _, path = message.partition(" - at `$")
    steps = re.findall(r"[^.\[\]]+", path.rstrip("`"))
    if member := _MEMBER.search(text):
        steps.append(member[1])
    pointer = "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps if step != "...")
    return ArgumentsError(f"{pointer or '/'}: {text}", pointer)


def described_by(function: Callable[..., Any]) -> str:
    """The docstring without its indentation; empty when there is none."""
    return inspect.getdoc(function) or ""
