"""One tool, key by key."""

from __future__ import annotations

from typing import Any

import pytest

from tests.toolfile.builders import problems, tool


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("retry = 3", {"attemptsMax": 3, "delayS": 1.0, "delayMaxS": 300.0, "factor": 2.0, "jitterS": None}),
        (
            'retry = { attempts = 5, delay = "10s", max_delay = "1h", factor = 3, jitter = "500ms" }',
            {"attemptsMax": 5, "delayS": 10, "delayMaxS": 3600, "factor": 3.0, "jitterS": 0.5},
        ),
    ],
)
def test_retry(line: str, expected: dict[str, Any]) -> None:
    assert tool(line)["policy"]["retry"] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("timeout = 90", {"attemptS": 90}),
        ('timeout = "1h30m"', {"attemptS": 5400}),
        ('timeout = { attempt = "1m", queue = "2m", idle = "0.5s", total = 7 }',
         {"attemptS": 60, "queueS": 120, "idleS": 0.5, "totalS": 7}),
        ("timeout = { idle = 5 }", {"idleS": 5}),
    ],
)  # fmt: skip
def test_timeout(line: str, expected: dict[str, Any]) -> None:
    assert tool(line)["policy"]["timeouts"] == expected


@pytest.mark.parametrize(
    ("line", "key", "limit"),
    [
        ("concurrency = 2", "tool:t", 2),
        ('concurrency = "db"', "db", 1),
        ('concurrency = { key = "db", limit = 3 }', "db", 3),
        ("concurrency = { limit = 3 }", "tool:t", 3),
    ],
)
def test_concurrency(line: str, key: str, limit: int) -> None:
    policy = tool(line)["policy"]
    assert (policy["concurrencyKey"], policy["concurrencyLimit"]) == (key, limit)


@pytest.mark.parametrize(
    ("line", "expected"),
    [("budget = { runs = 3 }", {"runs": 3}), ("budget = { runs = 0, depth = 2 }", {"runs": 0, "depth": 2})],
)
def test_budget(line: str, expected: dict[str, int]) -> None:
    assert tool(line)["policy"]["budget"] == expected


@pytest.mark.parametrize(
    "line", ["budget = 3", "budget = { runs = -1 }", "budget = { depth = 65 }", "budget = { run = 1 }"]
)
def test_a_wrong_budget_is_refused(line: str) -> None:
    (problem,) = problems(f'[tools.t]\ncommand = ["x"]\n{line}')
    assert problem.line == 3


def test_the_rest_of_the_policy() -> None:
    policy = tool('priority = 5\ncancel_grace = "0s"\nretry_on_lost = true\nidempotent = true')["policy"]
    assert (policy["priority"], policy["cancelGraceS"], policy["retryOnLost"], policy["idempotent"]) == (
        5,
        0,
        True,
        True,
    )


def test_the_profile() -> None:
    text = """
pool = "gpu"
cwd = "sub/folder"
env = { A = "1", EMPTY = "" }
env_allow = ["JAVA_HOME", "PATH"]
secrets = ["TOKEN", "TOKEN"]
limits = { output = "1MiB", memory = "2GiB", cpu = "59.5s", open_files = 64, processes = 8, file = 1000 }
"""
    profile = tool(text)["profile"]
    assert profile["pool"] == "gpu"
    assert profile["cwd"] == "/repo/sub/folder"
    assert profile["env"] == {"A": "1", "EMPTY": ""}
    assert profile["envAllow"][-1] == "JAVA_HOME"
    assert profile["envAllow"].count("PATH") == 1
    assert profile["secrets"] == ["TOKEN"]
    assert profile["limits"] == {
        "outputBytes": 1048576,
        "memoryBytes": 2147483648,
        "cpuSeconds": 60,
        "openFiles": 64,
        "processes": 8,
        "fileBytes": 1000,
    }
    assert tool('cwd = "/abs"')["profile"]["cwd"] == "/abs"


def test_a_shell_command() -> None:
    profile = tool("shell = true", command='command = "echo hi | wc"')["profile"]
    assert (profile["command"], profile["shell"]) == ({"shell": "echo hi | wc"}, True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", "auto"),
        ('summary = "pytest"', "pytest"),
        ('summary = "junit:out/*.xml"', "junit:out/*.xml"),
        ("summary = { regex = '(?P<n>\\d+) ok' }", {"regex": "(?P<n>\\d+) ok"}),
    ],
)
def test_summary(line: str, expected: object) -> None:
    assert tool(line)["summary"] == expected


def test_a_description_is_made_from_the_command() -> None:
    assert tool("", command='command = ["go", "test", "./..."]')["description"] == "Runs `go test ./...`."
    assert tool("shell = true", command='command = "make\\nmake test"')["description"] == "Runs `make`."


def test_inputs_in_short() -> None:
    text = """
[tools.t.input]
a = "string"
b = "integer?"
c = "string[]"
d = { enum = ["x", "y"], default = "x" }
e = { type = "number", optional = true, minimum = 0 }
f = { type = "string", allow_options = true }
g = { type = "array", items = { type = "string" }, default = [] }
h = { enum = [1, "one"] }
i = { type = "string", x-note = "kept" }
"""
    places = ", ".join(f'"--{name}={{{name}}}"' for name in "abcdefghi")
    definition = tool(text, command=f'command = ["x", {places}]')
    assert definition["inputSchema"] == {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer"},
            "c": {"type": "array", "items": {"type": "string"}},
            "d": {"type": "string", "enum": ["x", "y"], "default": "x"},
            "e": {"type": "number", "minimum": 0},
            "f": {"type": "string", "x-allow-options": True},
            "g": {"type": "array", "items": {"type": "string"}, "default": []},
            "h": {"enum": [1, "one"]},
            "i": {"type": "string", "x-note": "kept"},
        },
        "required": ["a", "c", "f", "h", "i"],
        "additionalProperties": False,
    }
    assert definition["profile"]["defaults"] == {"d": "x", "g": []}
    assert definition["profile"]["allowOptions"] == ["f"]


@pytest.mark.parametrize(
    ("line", "key", "rule"),
    [
        ("description = 5", "description", "a text"),
        ('description = " "', "description", "empty"),
        ("shell = 1", "shell", "true or false"),
        ('mode = "jobs"', "mode", '"job", "task", "inline"'),
        ('pool = "a/b"', "pool", "a name of letters"),
        ("cwd = 5", "cwd", "a text"),
        ("env = 5", "env", "a table of texts"),
        ("env = { A = 1 }", "A", "a text"),
        ('env = { "A B" = "1" }', "A B", "not a name"),
        ('env = { RINGBACK_ATTEMPT = "1" }', "RINGBACK_ATTEMPT", "not a name"),
        ('secrets = ["a=b"]', "secrets", "a list of names"),
        ('secrets = "TOKEN"', "secrets", "a list of names"),
        ('secrets = ["A"]\nenv = { A = "x" }', "secrets", "A has a value in env already"),
        ('env_allow = ["-"]', "env_allow", "a list of names"),
        ('timeout = "5 m"', "timeout", "not a duration"),
        ("timeout = 0", "timeout", "from 0.001"),
        ('cancel_grace = "2d"', "cancel_grace", "from 0 to 86400 seconds"),
        ('input = { a = { "$ref" = 5 } }', "a", "not a JSON Schema"),
        ("timeout = { atempt = 5 }", "atempt", "unknown key"),
        ("retry = 0", "retry", "from 1 to 100"),
        ('retry = "3"', "retry", "a number of attempts"),
        ("retry = { factor = 0.5 }", "factor", "from 1 to 100"),
        ("retry = { tries = 3 }", "tries", "unknown key"),
        ("priority = 1.5", "priority", "a whole number"),
        ("concurrency = 0", "concurrency", "from 1 to"),
        ('concurrency = ""', "concurrency", "a key"),
        ("concurrency = true", "concurrency", "a number"),
        ("concurrency = { name = 5 }", "name", "unknown key"),
        ("idempotent = 1", "idempotent", "true or false"),
        ('summary = "pytst"', "summary", "unknown"),
        ('summary = "junit:/etc/passwd"', "summary", "relative"),
        ('summary = { regex = "(" }', "summary", ""),
        ('limits = { memory = "much" }', "memory", "a number of bytes"),
        ("limits = { memory = 0 }", "memory", "at least one byte"),
        ("limits = { memry = 5 }", "memry", "unknown key"),
        ("limits = { processes = 0 }", "processes", "from 1"),
        ("input = 5", "input", "a table of inputs"),
        ('input = { a = "strin" }', "a", "a type such as"),
        ("input = { a = 5 }", "a", "a type such as"),
        ('input = { tags = "string" }', "tags", "this name is taken"),
        ('input = { "a-b" = "string" }', "a-b", "letters, digits and _"),
        ('input = { a = { type = "strin" } }', "a", "unknown type 'strin'"),
        ('input = { a = { type = "string", default = 5 } }', "a", "the default breaks its own schema"),
        ('input = { a = { pattern = "(" } }', "a", "not a JSON Schema"),
        ("input = { a = { minLength = -1 } }", "a", "not a JSON Schema"),
        ('input = { a = { "$ref" = "https://example.com/s.json" } }', "a", "never followed"),
        ('input = { a = { items = { "$ref" = "file:///etc/passwd" } } }', "a", "never followed"),
        ("input = { a = { default = 2026-01-01 } }", "a", "write them as text"),
        ("input = { a = { default = inf } }", "a", "write them as text"),
        ("input = { a = { optional = 5 } }", "optional", "true or false"),
        ('input = { a = "string" }', "a", "the command has no {a}"),
    ],
)  # fmt: skip
def test_refuses(line: str, key: str, rule: str) -> None:
    (problem,) = problems(f'[tools.t]\ncommand = ["x"]\n{line}')
    assert problem.key == key
    assert problem.table.startswith("tools.t")
    assert rule in problem.rule
    assert problem.line is not None
    assert problem.line >= 3


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ('"pytest -q"', "needs shell = true"),
        ("5", "a list of strings"),
        ("[]", "not empty"),
        ('["x", 5]', "element [1]: an element of a command is a string"),
        ('["x", "{"]', "a lone"),
        ('["{x}"]', "a caller never chooses it"),
        ('["x", "{pth}"]', "no input is named 'pth'"),
        ('["x"]\nshell = true', "a command is one text"),
        ('"x \'{p}\'"\nshell = true\ninput = { p = "string" }', "not replaced"),
        ('["x", ["-v"]]', "element [1]: a group"),
    ],
)
def test_refuses_commands(command: str, rule: str) -> None:
    (problem,) = problems(f"[tools.t]\ncommand = {command}")
    assert (problem.key, problem.line) == ("command", 2)
    assert rule in problem.rule
