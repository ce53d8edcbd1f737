"""The definition of a hosted MCP server: what is wrong is named by its pointer."""

from typing import Any

import pytest

from ringback.domain.definitions import definition_flaws, need_of

GOOD: dict[str, Any] = {
    "command": ["npx", "-y", "server"],
    "cwd": "/srv",
    "env": {"A": "b"},
    "envAllow": ["LANGUAGE"],
    "secrets": ["KEY"],
    "secretsFile": "/etc/key.json",
    "asks": ["elicitation", "sampling"],
    "roots": ["file:///srv"],
    "sessions": 2,
    "idleS": 0,
    "startWithinS": 5,
    "restart": {"policy": "never", "delayS": 1, "delayMaxS": 5, "attemptsMax": 3},
}


def pointers(profile: dict[str, Any], **more: Any) -> list[str]:
    definition = {"name": "x", "runtime": "mcp", "profile": profile, **more}
    return [flaw.pointer for flaw in definition_flaws(definition)]


def test_a_good_one() -> None:
    assert pointers({"server": GOOD, "tool": "t"}) == []
    assert pointers({"server": {"url": "https://example.org/mcp", "headers": {"X-Key": "${KEY}"}}, "tool": "t"}) == []
    assert pointers({"server": GOOD, "method": "resources/read"}) == []
    assert need_of({"name": "x", "runtime": "mcp"}) == "mcp"


@pytest.mark.parametrize(
    ("member", "value", "pointer"),
    [
        ("url", "https://example.org", ""),
        ("command", None, ""),
        ("command", [], "/command"),
        ("command", "npx server", "/command"),
        ("command", ["a\0b"], "/command"),
        ("cwd", "here", "/cwd"),
        ("secretsFile", "key.json", "/secretsFile"),
        ("env", {"A B": "x"}, "/env/A B"),
        ("env", {"A": "x\ny"}, "/env/A"),
        ("env", [], "/env"),
        ("headers", {"X Y": "x"}, "/headers/X Y"),
        ("secrets", ["A B"], "/secrets"),
        ("envAllow", "A", "/envAllow"),
        ("asks", ["anything"], "/asks"),
        ("roots", ["https://example.org"], "/roots"),
        ("sessions", 0, "/sessions"),
        ("idleS", -1, "/idleS"),
        ("startWithinS", True, "/startWithinS"),
        ("restart", [], "/restart"),
        ("restart", {"policy": "always"}, "/restart/policy"),
        ("restart", {"delayS": -1}, "/restart/delayS"),
        ("restart", {"often": 1}, "/restart/often"),
        ("unknown", 1, "/unknown"),
    ],
)
def test_a_flaw_is_named(member: str, value: Any, pointer: str) -> None:
    assert f"/profile/server{pointer}" in pointers({"server": {**GOOD, member: value}, "tool": "t"})


@pytest.mark.parametrize("url", ["ftp://x/", "https://", "https://u:p@x/", 7, "http://[x"])
def test_an_address_that_is_none(url: Any) -> None:
    assert pointers({"server": {"url": url}, "tool": "t"}) == ["/profile/server/url"]


def test_which_tool_and_of_which_server() -> None:
    assert pointers({"tool": "t"}) == ["/profile/server"]
    assert pointers({"server": [], "tool": "t"}) == ["/profile/server"]
    assert pointers({"server": GOOD}) == ["/profile/tool"]
    assert pointers({"server": GOOD, "tool": "t", "method": "prompts/get"}) == ["/profile/tool"]
    assert pointers({"server": GOOD, "method": "initialize"}) == ["/profile/method"]
    assert pointers({"server": GOOD, "source": "x"}, runtime="script") == ["/profile/server"]
