"""`[servers.NAME]` and `[agents.NAME]`: the definitions that they become, and every mistake told at its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringback.domain.definitions import definition_flaws
from ringback.toolfile import ToolFileError, parse

FILE = Path("/somewhere/ringback.toml")
GOOD = """
[servers.files]
description = "Files of the project"
command = ["node", "server.js", "."]
secrets = ["FILES_TOKEN"]
idle = "10m"
restart = { delay = "1s" }
timeout = { total = "8h" }

[agents.helper]
description = "Looks and tells"
model = "scripted"
instructions = "Be brief."
callables = ["test", { name = "files", type = "mcp_server", alias = "fs", channel = "canary" }]
budget = { runs = 20, depth = 3 }

[[agents.helper.script]]
calls = [{ callable = "test", arguments = { path = "x" } }]

[[agents.helper.script]]
say = "It said {last}"
"""


def test_both_become_definitions_that_the_catalogue_takes() -> None:
    read = parse(GOOD, file=FILE)
    server, agent = read.definitions
    assert [list(definition_flaws(each)) for each in (server, agent)] == [[], []]
    assert (server["resourceType"], server["runtime"]) == ("mcp_server", "mcp")
    assert server["profile"]["server"] == {
        "command": ["node", "server.js", "."],
        "secrets": ["FILES_TOKEN"],
        "idleS": 600.0,
        "cwd": "/somewhere",
        "restart": {"delayS": 1.0},
    }
    assert server["policy"]["timeouts"]["totalS"] == 28_800
    assert agent["profile"]["callables"][1] == {
        "name": "files",
        "resourceType": "mcp_server",
        "alias": "fs",
        "releaseChannel": "canary",
    }
    assert len(agent["profile"]["script"]) == 2
    assert agent["policy"]["budget"] == {"runs": 20, "depth": 3}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[servers.Bad]\ncommand = ["x"]', "a name is lower-case"),
        ("[servers.s]\n", "needs a command or a url"),
        ('[servers.s]\ncommand = ["x"]\nurl = "http://h/"', "needs a command or a url"),
        ('[servers.s]\ncommand = ["x"]\nsurprise = 1', "surprise"),
        ('[servers.s]\ncommand = ["x"]\nidle = "soon"', "not a duration"),
        ("servers = 3", "[servers.NAME]"),
        ("[agents.a]\n", "must be one of scripted"),
        ('[agents.a]\nmodel = "scripted"\ncallables = [{ name = "x", relation = "handoff" }]', "0/relation"),
        ('[agents.a]\nmodel = "scripted"\nscript = [{ sing = 1 }]', "`say` or `calls`"),
        ('[agents.a]\nmodel = "scripted"\ntemperature = 1', "temperature"),
    ],
)
def test_a_mistake_is_told_at_its_place(text: str, words: str) -> None:
    with pytest.raises(ToolFileError) as refused:
        parse(text, file=FILE)
    assert words in "\n".join(map(str, refused.value.problems))


def test_all_mistakes_are_told_together() -> None:
    with pytest.raises(ToolFileError) as refused:
        parse('[servers.s]\n[agents.a]\nmodel = "x"\n[tools.t]\n', file=FILE)
    text = "\n".join(map(str, refused.value.problems))
    assert all(name in text for name in ("servers.s", "agents.a", "tools.t"))
