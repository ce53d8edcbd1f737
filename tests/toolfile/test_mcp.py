"""`[tools.NAME.mcp]`, the manual's example of it, and the mistakes that one can make there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ringback.domain.definitions import definition_flaws
from ringback.toolfile import parse
from tests.toolfile.builders import problems, tool

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "mcp-servers.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"^```toml\n(.*?)^```", MANUAL, re.DOTALL | re.MULTILINE)
SPELLED = """
pool = "tools"
[tools.t.input]
city = { type = "string", default = "Zurich" }
[tools.t.mcp]
tool = "get-weather"
command = ["weather"]
cwd = "sub"
env = { A = "b" }
env_allow = ["LANGUAGE"]
secrets = ["KEY"]
secrets_file = "/etc/key.json"
asks = ["sampling"]
roots = ["file:///srv"]
sessions = 2
idle = "10m"
start_within = 5
restart = { delay = "1s", max_delay = "1m" }
"""


def test_the_whole_table() -> None:
    definition = tool(SPELLED, command="")
    assert list(definition_flaws(definition)) == []
    assert (definition["runtime"], definition["description"]) == ("mcp", "Calls get-weather.")
    assert definition["profile"] == {
        "pool": "tools",
        "defaults": {"city": "Zurich"},
        "tool": "get-weather",
        "server": {
            "command": ["weather"],
            "cwd": "/repo/sub",
            "env": {"A": "b"},
            "envAllow": ["LANGUAGE"],
            "secrets": ["KEY"],
            "secretsFile": "/etc/key.json",
            "asks": ["sampling"],
            "roots": ["file:///srv"],
            "sessions": 2,
            "idleS": 600.0,
            "startWithinS": 5.0,
            "restart": {"delayS": 1.0, "delayMaxS": 60.0},
        },
    }


def test_a_server_at_an_address_and_another_method() -> None:
    definition = tool('[tools.t.mcp]\nurl = "https://example.org/mcp"\nmethod = "prompts/get"', command="")
    assert definition["profile"] == {
        "pool": "default",
        "method": "prompts/get",
        "server": {"url": "https://example.org/mcp"},
    }
    assert definition["description"] == "Calls an MCP server."


def test_the_manuals_example() -> None:
    (definition,) = parse(BLOCK, file=ROOT / "ringback.toml").tools
    assert list(definition_flaws(definition)) == []


@pytest.mark.parametrize(
    ("text", "table", "key"),
    [
        ('[tools.t.mcp]\ncommand = ["x"]', "tools.t.mcp", "tool"),
        ('[tools.t.mcp]\ntool = "a"', "tools.t.mcp", ""),
        ('[tools.t.mcp]\ntool = "a"\ncommand = "x y"', "tools.t.mcp", "command"),
        ('[tools.t.mcp]\ntool = "a"\ncommand = ["x"]\nenv_allow = [1]', "tools.t.mcp", "env_allow"),
        ('[tools.t.mcp]\ntool = "a"\ncommand = ["x"]\nenv = { "A B" = "c" }', "tools.t.mcp.env", "A B"),
        ('[tools.t.mcp]\ntool = "a"\ncommand = ["x"]\nidle = "soon"', "tools.t.mcp", "idle"),
        ('[tools.t.mcp]\ntool = "a"\ncommand = ["x"]\nidel = 1', "tools.t.mcp", "idel"),
        ('[tools.t.mcp]\ntool = "a"\ncommand = ["x"]\nrestart = { often = 1 }', "tools.t.mcp.restart", "often"),
        ('secrets = ["A"]\n[tools.t.mcp]\ntool = "a"\ncommand = ["x"]', "tools.t", "secrets"),
        ('[tools.t.mcp]\ntool = "a"\ncommand = ["x"]\n[tools.t.http]\nurl = "https://x.example"', "tools.t", "mcp"),
    ],
)
def test_a_mistake_is_told_at_its_key(text: str, table: str, key: str) -> None:
    (problem,) = problems(f"[tools.t]\n{text}")
    assert (problem.table, problem.key) == (table, key)
