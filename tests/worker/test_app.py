"""`App`: what decorating makes of a function, and what it refuses."""

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

import ringback
from ringback import App, Context, Retry
from ringback.worker.schema import ArgumentsError, SignatureError, read_signature


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    tags: list[str] = dataclasses.field(default_factory=list)


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


class Inner(pydantic.BaseModel):
    at: str


class Model(pydantic.BaseModel):
    inner: Inner


def arguments(function: Callable[..., Any], text: str) -> dict[str, Any]:
    return read_signature(function).arguments(msgspec.Raw(text.encode()))


def test_a_definition_has_the_shape_that_the_server_stores() -> None:
    app = App(pool="gpu", secrets=["KEY"])

    @app.tool(timeout=timedelta(minutes=10), retry=3, idempotent=True, concurrency=2, secrets=["TOK"], mode="inline")
    async def crawl(ctx: Context, url: str, pages: int = 50) -> dict[str, Any]:
        """Fetch pages.

        All of them.
        """
        return {}

    assert app.definitions("shop:app") == [
        {
            "name": "crawl",
            "description": "Fetch pages.\n\nAll of them.",
            "runtime": "function",
            "inputSchema": {
                "type": "object",
                "properties": {"url": {"type": "string"}, "pages": {"type": "integer", "default": 50}},
                "required": ["url"],
                "additionalProperties": False,
            },
            "profile": {"pool": "gpu", "secrets": ["KEY", "TOK"], "function": "shop:app/crawl"},
            "policy": {
                "priority": 0,
                "retry": {"attemptsMax": 3, "delayS": 1.0, "delayMaxS": 300.0, "factor": 2.0, "jitterS": None},
                "timeouts": {"attemptS": 600.0},
                "cancelGraceS": 5.0,
                "retryOnLost": False,
                "idempotent": True,
                "concurrencyKey": "crawl",
                "concurrencyLimit": 2,
            },
            "summary": "auto",
            "mode": "inline",
            "requiresIdempotencyKey": False,
        }
    ]


def test_the_decorator_returns_the_function_itself_with_and_without_brackets() -> None:
    app = App()

    def one() -> int:
        return 1

    assert app.tool(one) is one
    assert app.tool(name="two", description="The second.")(one) is one
    assert [each["description"] for each in app.definitions()] == ["", "The second."]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("deploy", {"concurrencyKey": "deploy", "concurrencyLimit": 1}),
        (("deploy", 3), {"concurrencyKey": "deploy", "concurrencyLimit": 3}),
        (None, {}),
    ],
)
def test_concurrency_is_a_key_a_limit_or_both(given: Any, expected: dict[str, Any]) -> None:
    app = App()
    app.tool(name="a", concurrency=given, retry=Retry(attempts=2, delay=9))(lambda: None)
    policy = app.definitions()[0]["policy"]
    assert {name: value for name, value in policy.items() if name.startswith("concurrency")} == expected
    assert policy["retry"]["delayS"] == 9


@pytest.mark.parametrize(
    "policy", [{"timeout": 0}, {"retry": 0}, {"concurrency": 0}, {"name": "two words"}, {"name": "taken"}]
)
def test_a_tool_that_makes_no_sense_is_refused(policy: dict[str, Any]) -> None:
    app = App()
    app.tool(name="taken")(lambda: None)
    with pytest.raises(ValueError, match=r".+"):
        app.tool(**{"name": "fine", **policy})(lambda: None)


def test_the_schema_follows_the_annotations() -> None:
    def tool(
        point: Point,
        options: Options,
        model: Model,
        how: Annotated[Literal["fast", "slow"], "How to go about it"],
        colour: Colour = Colour.RED,
        ratio: float | None = None,
        names: list[str] = [],  # noqa: B006 - as users write it
        anything: Any = None,
    ) -> None: ...

    schema = read_signature(tool).input_schema
    assert schema["required"] == ["point", "options", "model", "how"]
    model = schema["properties"].pop("model")
    assert model["properties"] == {"inner": {"$ref": "#/$defs/Inner"}}
    assert schema["properties"] == {
        "point": {"$ref": "#/$defs/Point"},
        "options": {"$ref": "#/$defs/Options"},
        "how": {"description": "How to go about it", "enum": ["fast", "slow"]},
        "colour": {"$ref": "#/$defs/Colour", "default": "red"},
        "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
        "names": {"type": "array", "items": {"type": "string"}},
        "anything": {"default": None},
    }
    assert set(schema["$defs"]) == {"Point", "Options", "Inner", "Colour"}


def test_arguments_become_what_the_annotations_say() -> None:
    def tool(point: Point, model: Model, colour: Colour = Colour.RED, names: list[str] = []) -> None: ...  # noqa: B006

    given = arguments(tool, '{"point": {"x": 1}, "model": {"inner": {"at": "home"}}, "colour": "blue"}')
    assert given == {"point": Point(1), "model": Model(inner=Inner(at="home")), "colour": Colour.BLUE}


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("{}", "/point"),
        ('{"point": {"x": "1"}}', "/point/x"),
        ('{"point": {"x": 1, "tags": ["a", 2]}}', "/point/tags/1"),
        ('{"point": {"x": 1}, "more": 1}', "/more"),
        ('{"point": {"x": 1}, "model": {"inner": 3}}', "/model"),
        ("[]", ""),
    ],
)
def test_arguments_that_do_not_fit_are_named_by_their_pointer(text: str, pointer: str) -> None:
    def tool(point: Point, model: Model | None = None) -> None: ...

    with pytest.raises(ArgumentsError) as caught:
        arguments(tool, text)
    assert caught.value.pointer == pointer
    assert str(caught.value).startswith(f"{pointer or '/'}: ")


def test_integers_of_any_size_arrive_unchanged() -> None:
    def tool(n: int, anything: Any) -> None: ...

    text = '{"n": 1606938044258990275541962092341162602522202993782792835301376, "anything": [2512292042121000001]}'
    assert arguments(tool, text) == {"n": 2**200, "anything": [2512292042121000001]}


def test_the_context_is_recognised_by_its_annotation() -> None:
    def tool(n: int, *, where: Context | None = None) -> None: ...

    signature = read_signature(tool)
    assert signature.context_parameter == "where"
    assert list(signature.input_schema["properties"]) == ["n"]


def test_a_parameter_without_annotation_takes_anything() -> None:
    function: Callable[..., Any] = lambda n: n  # noqa: E731 - it has none
    assert read_signature(function).input_schema["properties"] == {"n": {}}


def test_signatures_that_json_cannot_call_are_refused() -> None:
    def variadic(*names: str) -> None: ...
    def positional(n: int, /) -> None: ...
    def foreign(thing: object) -> None: ...
    def unresolved(thing: "Missing") -> None: ...  # type: ignore[name-defined] # noqa: F821

    for function in (variadic, positional, foreign, unresolved):
        with pytest.raises(SignatureError, match=function.__name__):
            App().tool(function)


def test_importing_the_package_loads_nothing() -> None:
    code = "import ringback, sys; print([m for m in ('msgspec', 'asyncio', 'ringback.worker') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_package_offers_what_it_lists_and_nothing_else() -> None:
    assert all(hasattr(ringback, name) for name in ringback.__all__)
    with pytest.raises(AttributeError):
        ringback.nothing  # noqa: B018
