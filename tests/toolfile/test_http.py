"""`[tools.NAME.http]`, the manual's examples of it, and the mistakes that one can make there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ringback.domain.http_request import check_arguments
from ringback.toolfile import load, parse
from ringback.toolfile.http import _FOLLOW, _REQUEST
from tests.toolfile.builders import problems, tool

ROOT = Path(__file__).parents[2]
MANUAL = (ROOT / "docs" / "http-tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```toml\n(.*?)^```", MANUAL, re.DOTALL | re.MULTILINE)
SPELLED = """
retry = 2
[tools.t.input]
scene = "string"
[tools.t.http]
url = "https://render.example.com/v1/jobs"
headers = { Authorization = "Bearer {secret:RENDER_TOKEN}" }
body = { scene = "{scene}", notify = "{callback_url}" }
timeout = "5s"
answer_limit = "64KiB"
idempotency_header = "X-Request-Key"
callback = { secret = "HOOK" }
[tools.t.http.follow]
style = "azure"
status_url = "{@url}/{/id}"
interval = "1s"
max_interval = "1m"
patience = "1h"
"""


def test_the_whole_table() -> None:
    definition = tool(SPELLED, command="")
    assert definition["runtime"] == "http"
    assert definition["description"] == "Calls https://render.example.com/v1/jobs."
    assert definition["profile"] == {
        "pool": "default",
        "secrets": ["RENDER_TOKEN"],
        "http": {
            "url": "https://render.example.com/v1/jobs",
            "headers": {"Authorization": "Bearer {secret:RENDER_TOKEN}"},
            "body": {"scene": "{scene}", "notify": "{callback_url}"},
            "timeoutS": 5.0,
            "answerBytes": 65536,
            "idempotencyHeader": "X-Request-Key",
            "callback": {"secret": "HOOK"},
            "follow": {
                "style": "azure",
                "statusUrl": "{@url}/{/id}",
                "intervalS": 1.0,
                "intervalMaxS": 60.0,
                "patienceS": 3600.0,
            },
        },
    }
    policy = definition["policy"]
    assert (policy["retryOnLost"], policy["cancelGraceS"], policy["retry"]["attemptsMax"]) == (True, 30, 2)


@pytest.mark.parametrize(
    ("line", "table", "key"),
    [
        ('command = ["x"]\n[tools.t.http]\nurl = "https://a.example"', "tools.t", "command"),
        ('cwd = "x"\n[tools.t.http]\nurl = "https://a.example"', "tools.t", "cwd"),
        ("[tools.t.http]", "tools.t.http", "url"),
        ('[tools.t.http]\nurl = "https://a.example"\nmetod = "GET"', "tools.t.http", "metod"),
        ('[tools.t.http]\nurl = "https://a.example"\ntimeout = "1h"', "tools.t.http", "timeout"),
        ('[tools.t.http]\nurl = "https://a.example"\nidempotency_header = " "', "tools.t.http", "idempotency_header"),
        ('[tools.t.http]\nurl = "https://a.example"\nbody = { a = "{x}" }', "tools.t.http", ""),
        ('[tools.t.http]\nurl = "https://a.example"\nheaders = { Host = "x" }', "tools.t.http.headers", "Host"),
        ('[tools.t.http]\nurl = "https://a.example"\n[tools.t.http.follow]\nstat = 1', "tools.t.http.follow", "stat"),
        (
            '[tools.t.http]\nurl = "https://a.example"\n[tools.t.http.follow]\ncancel_method = "GET"',
            "tools.t.http.follow",
            "cancel_method",
        ),
    ],
)
def test_mistakes(line: str, table: str, key: str) -> None:
    assert (table, key) in [(problem.table, problem.key) for problem in problems(f"[tools.t]\n{line}")]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0])
def test_a_block_of_the_manual_is_read(block: str) -> None:
    for definition in parse(block, file=ROOT / "ringback.toml").tools:
        required = definition["inputSchema"].get("required", [])
        check_arguments(definition["profile"], dict.fromkeys(required, "a"))


def test_the_manual_has_every_key() -> None:
    rows = set(re.findall(r"^\| `(\w+)`", MANUAL, re.MULTILINE))
    assert {*_REQUEST, *_FOLLOW} <= rows | set(re.findall(r", `(\w+)`", MANUAL))


def test_the_example_is_read() -> None:
    file = load(ROOT / "examples" / "http")
    assert [definition["runtime"] for definition in file.tools] == ["http"] * len(file.tools)
