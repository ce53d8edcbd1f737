"""The tools that every project has are a contract: what hosts were told is checked in, and compared."""

from __future__ import annotations

import jsonschema_rs
from scripts.generate_mcp_tools import PLACE, text

from ringback.mcp.builtin import builtin_tools


def test_what_is_checked_in_is_what_the_code_says() -> None:
    assert PLACE.read_text(encoding="utf-8") == text(), "run scripts/generate_mcp_tools.py"


def test_schemas_are_schemas_and_hints_are_honest() -> None:
    for name, tool in builtin_tools().items():
        jsonschema_rs.Draft202012Validator(tool.input_schema)
        if tool.output_schema is not None:
            jsonschema_rs.Draft202012Validator(tool.output_schema)
        assert tool.annotations is not None
        reads = name.startswith(("get_", "list_", "read_", "wait_"))
        assert tool.annotations.read_only_hint is reads
        assert tool.description


def test_nothing_is_promised_where_r1_forbids_it() -> None:
    """R1: `read_async_run` promises neither structured content nor an output schema."""
    assert builtin_tools()["read_async_run"].output_schema is None
    assert set(builtin_tools()["read_async_run"].input_schema["properties"]) == {"project", "run_id"}
    assert builtin_tools()["read_async_run"].input_schema["required"] == ["run_id"]
