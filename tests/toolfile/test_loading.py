"""The file as a whole: what is read, and how mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ringback.domain.definitions import definition_flaws
from ringback.settings import ServerSettings
from ringback.toolfile import ToolFileError, load, parse
from ringback.toolfile.loading import SERVER_KEYS
from ringback.toolfile.tools import KEYS
from tests.toolfile.builders import FILE, problems


def test_a_small_file_becomes_a_full_definition(tmp_path: Path) -> None:
    (tmp_path / "ringback.toml").write_text(
        """
[project]
name = "shop"
[server]
port = 7979
[tools.test]
description = "Run the tests."
command = ["pytest", "-q", "--suite={suite}", "{path}"]
timeout = "5m"
[tools.test.input]
suite = { enum = ["unit", "e2e"], default = "unit" }
path = "string?"
"""
    )
    file = load(tmp_path)
    assert (file.path, file.project, dict(file.server)) == (tmp_path / "ringback.toml", "shop", {"port": 7979})
    assert file.tools == (
        {
            "name": "test",
            "description": "Run the tests.",
            "runtime": "command",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "suite": {"type": "string", "enum": ["unit", "e2e"], "default": "unit"},
                    "path": {"type": "string"},
                },
                "additionalProperties": False,
            },
            "profile": {
                "pool": "default",
                "command": ["pytest", "-q", "--suite={suite}", "{path}"],
                "shell": False,
                "cwd": str(tmp_path),
                "env": {},
                "envAllow": ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"],
                "secrets": [],
                "limits": {"outputBytes": 16777216},
                "defaults": {"suite": "unit"},
            },
            "policy": {
                "priority": 0,
                "retry": {"attemptsMax": 1, "delayS": 1.0, "delayMaxS": 300.0, "factor": 2.0, "jitterS": None},
                "timeouts": {"attemptS": 300},
                "cancelGraceS": 5.0,
                "retryOnLost": False,
                "idempotent": False,
            },
            "summary": "auto",
            "mode": "job",
            "requiresIdempotencyKey": False,
        },
    )


def test_an_empty_file_has_no_tools() -> None:
    file = parse("", file=FILE)
    assert (file.tools, file.project, dict(file.server)) == ((), None, {})


def test_a_byte_order_mark_is_forgiven(tmp_path: Path) -> None:
    (tmp_path / "ringback.toml").write_bytes(b'\xef\xbb\xbf[tools.a]\ncommand = ["x"]\n')
    assert [tool["name"] for tool in load(tmp_path / "ringback.toml").tools] == ["a"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tools.a]\nname = \n", "ringback.toml:2:8: not TOML: Invalid value"),
        (b'x = "', "ringback.toml:1:6: not TOML: "),
        (b"a = 1\na = 2\n", "not TOML: Cannot overwrite a value"),
        (b"a = 1\nb = '\xff'\n", "ringback.toml:2: not UTF-8"),
        (b"#" * (1024 * 1024 + 1), "ringback.toml: larger than 1 MiB"),
        (b"a = " + b"[" * 60 + b"]" * 60, "nested deeper than 50 levels"),
        (b"a" + b".a" * 5_000 + b" = 1", "nested deeper than 50 levels"),
        (b'a = "\\u0000"', "a NUL character"),
    ],
)
def test_a_broken_file_is_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "ringback.toml").write_bytes(content)
    with pytest.raises(ToolFileError) as caught:
        load(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolFileError, match=r"ringback.toml: cannot be read: No such file"):
        load(tmp_path)


def test_all_problems_are_told_with_line_table_key_and_nearest() -> None:
    text = """[toolz]
[server]
prot = 1
[project]
nam = "x"
[tools.test]
command = ["x"]
timout = 5
[tools.test.input]
a = { typ = "string" }
"""
    found = problems(text)
    assert [(problem.line, problem.table, problem.key, problem.nearest) for problem in found] == [
        (1, "", "toolz", "tools"),
        (3, "server", "prot", "port"),
        (5, "project", "nam", "name"),
        (8, "tools.test", "timout", "timeout"),
        (10, "tools.test.input.a", "typ", "type"),
    ]
    assert str(found[3]) == "ringback.toml:8: [tools.test] timout: unknown key; the nearest known key is `timeout`"


@pytest.mark.parametrize(
    ("text", "table", "key", "rule"),
    [
        ("tools = 5", "", "tools", "a table of tools"),
        ("[tools]\nx = 5", "tools", "x", "written [tools.NAME]"),
        ("[[tools]]\nx = 5", "", "tools", "a table of tools"),
        ("server = 5", "", "server", "a table"),
        ('[project]\nname = "My Shop"', "project", "name", "a slug"),
        ('[tools.Test]\ncommand = ["x"]', "tools.Test", "", "lower-case"),
        ('[tools."a.b"]\ncommand = ["x"]', "tools.a.b", "", "lower-case"),
        (f'[tools.{"a" * 65}]\ncommand = ["x"]', "tools." + "a" * 65, "", "at most 64"),
        ("[tools.a]", "tools.a", "", "needs a `command`"),
        ('[tools.list_jobs]\ncommand = ["x"]\nmode = "task"', "tools.list_jobs", "", "a tool of Ringback itself"),
        (
            '[tools.a]\ncommand = ["x"]\n[tools.start_a]\ncommand = ["x"]\nmode = "inline"',
            "tools.start_a",
            "",
            "a tool of [tools.a]",
        ),
    ],
)
def test_refuses(text: str, table: str, key: str, rule: str) -> None:
    (problem,) = problems(text)
    assert (problem.table, problem.key) == (table, key)
    assert rule in problem.rule


def test_a_job_may_be_called_like_a_built_in_tool() -> None:
    assert parse('[tools.list_jobs]\ncommand = ["x"]', file=FILE).tools


def test_the_server_keys_are_those_of_the_settings() -> None:
    assert set(SERVER_KEYS) == set(ServerSettings.model_fields)


def test_a_long_nest_within_the_parser_is_refused() -> None:
    (problem,) = problems("a = " + "[" * 5_000 + "]" * 5_000)
    assert problem.rule == "nested deeper than 50 levels"


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text, file=FILE)
    except ToolFileError as error:
        assert error.problems


toml_values = st.sampled_from(
    [
        "5",
        "-1",
        "true",
        '"x"',
        '""',
        "[]",
        '["a"]',
        "[[]]",
        "{}",
        "{ a = 1 }",
        "1.5",
        "nan",
        "1979-05-27",
        '"{a}"',
        '["x", "{a}"]',
    ]
)
tool_keys = st.sampled_from([*KEYS, "wrong"])


@given(st.dictionaries(tool_keys, toml_values), st.dictionaries(st.sampled_from(["a", "type", "b c"]), toml_values))
def test_any_values_are_read_or_refused(keys: dict[str, str], inputs: dict[str, str]) -> None:
    lines = [f"{key} = {value}" for key, value in keys.items()]
    if "input" not in keys:
        lines += ["[tools.t.input]", *(f'"{key}" = {value}' for key, value in inputs.items())]
    try:
        (tool,) = parse("\n".join(["[tools.t]", *lines]), file=FILE).tools
        assert list(definition_flaws(tool)) == []
    except ToolFileError as error:
        assert all(problem.line for problem in error.problems)
