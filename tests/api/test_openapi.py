"""The description of the door: generated, whole, and checked in."""

from __future__ import annotations

from pathlib import Path

import jsonschema_rs
import msgspec

from ringback import __version__
from ringback.api.app import endpoints
from ringback.api.openapi import document
from tests.api.contract import fresh
from tests.api.door import Door

CHECKED_IN = Path(__file__).parents[2] / "contracts" / "openapi.json"


def test_what_is_checked_in_is_what_the_code_says() -> None:
    assert CHECKED_IN.read_bytes() == document(endpoints(), version=__version__), "run scripts/generate_openapi.py"


def test_every_route_is_described() -> None:
    described = {(method.upper(), path) for path, item in fresh()["paths"].items() for method in item}
    assert described == {(each.method, each.path) for each in endpoints()}
    operations = [item[method] for item in fresh()["paths"].values() for method in item]
    names = [each["operationId"] for each in operations]
    assert len(names) == len(set(names))
    assert [each["operationId"] for each in operations if not each["description"] or len(each["responses"]) < 1] == []


def test_every_schema_is_one() -> None:
    components = fresh()["components"]
    for name, schema in components["schemas"].items():
        jsonschema_rs.Draft202012Validator({**schema, "components": components})
        assert name.isidentifier(), name


async def test_it_is_served_without_a_token(door: Door) -> None:
    del door.client.headers["authorization"]
    answer = await door.client.get("/openapi.json")
    assert msgspec.json.decode(answer.content) == fresh()
