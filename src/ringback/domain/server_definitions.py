"""What the definition of an MCP server that workers host must look like: a program or an address, and no secret in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ringback.domain.errors import Flaw
from ringback.domain.json_values import escape

ASKS = ("elicitation", "sampling")
RESTARTS = ("on_failure", "never")
METHODS = (
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_URL = re.compile(r"https?://(?:[^\s/?#@:\[\]]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?(?:[/?][^\s#]*)?")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_MEMBERS = (
    "command",
    "url",
    "cwd",
    "env",
    "envAllow",
    "secrets",
    "secretsFile",
    "headers",
    "asks",
    "roots",
    "sessions",
    "idleS",
    "startWithinS",
    "restart",
)
_RANGES: Mapping[str, tuple[float, float]] = {"sessions": (1, 1_000), "idleS": (0, 86_400), "startWithinS": (1, 3_600)}
_RESTART: Mapping[str, tuple[float, float]] = {
    "delayS": (0, 3_600),
    "delayMaxS": (0, 86_400),
    "attemptsMax": (0, 1_000),
}


def call_flaws(profile: Mapping[str, Any]) -> Iterator[Flaw]:
    """Everything that is wrong with the profile of a tool that is a server's: which server, and what of it."""
    if "server" not in profile:
        yield Flaw("/profile/server", "a tool of an MCP server needs its server")
    else:
        yield from server_flaws(profile["server"], "/profile/server")
    method = profile.get("method", "tools/call")
    if method not in METHODS:
        yield Flaw("/profile/method", f"must be one of {', '.join(METHODS)}")
    tool = profile.get("tool")
    if method == "tools/call" and not (isinstance(tool, str) and 1 <= len(tool) <= 128):
        yield Flaw("/profile/tool", "must be the tool's name at the server, 1 to 128 characters")
    elif method != "tools/call" and tool is not None:
        yield Flaw("/profile/tool", f"{method} has no tool")


def server_flaws(server: Any, pointer: str) -> Iterator[Flaw]:
    """Everything that is wrong with the description of a server."""
    if not isinstance(server, Mapping):
        yield Flaw(pointer, "must be an object")
        return
    for member in server:
        if member not in _MEMBERS:
            yield Flaw(f"{pointer}/{escape(str(member))}", f"unknown member; known are {', '.join(sorted(_MEMBERS))}")
    yield from _place_flaws(server, pointer)
    for member, rule in (("env", _VARIABLE), ("headers", _HEADER)):
        yield from _text_flaws(server.get(member, {}), rule, f"{pointer}/{member}")
    for member in ("secrets", "envAllow"):
        if not _is_list_of(server.get(member, []), _VARIABLE):
            yield Flaw(f"{pointer}/{member}", "must be a list of names of environment variables")
    for member in ("cwd", "secretsFile"):
        if member in server and not (isinstance(server[member], str) and server[member].startswith("/")):
            yield Flaw(f"{pointer}/{member}", "must be an absolute path")
    if not isinstance(server.get("asks", []), list) or any(each not in ASKS for each in server.get("asks", [])):
        yield Flaw(f"{pointer}/asks", f"must be a list of {', '.join(ASKS)}")
    roots = server.get("roots", [])
    if not isinstance(roots, list) or not all(isinstance(each, str) and each.startswith("file://") for each in roots):
        yield Flaw(f"{pointer}/roots", "must be a list of file:// addresses")
    yield from _range_flaws(server, _RANGES, pointer)
    yield from _restart_flaws(server.get("restart", {}), f"{pointer}/restart")


def _place_flaws(server: Mapping[str, Any], pointer: str) -> Iterator[Flaw]:
    command, url = server.get("command"), server.get("url")
    if (command is None) == (url is None):
        yield Flaw(pointer, "needs a command or a url, and not both")
    if command is not None:
        is_list = isinstance(command, list) and bool(command) and all(isinstance(word, str) for word in command)
        if not is_list or not command[0] or any("\0" in word for word in command):
            yield Flaw(f"{pointer}/command", "must be a list of strings, the program first")
    if url is not None and not _is_url(url):
        yield Flaw(f"{pointer}/url", "must be an http:// or https:// address without a password in it")


def _is_url(url: Any) -> bool:
    return isinstance(url, str) and _URL.fullmatch(url) is not None


def _text_flaws(texts: Any, rule: re.Pattern[str], pointer: str) -> Iterator[Flaw]:
    if not isinstance(texts, Mapping):
        yield Flaw(pointer, "must be an object")
        return
    for name, value in texts.items():
        if not rule.fullmatch(name) or not isinstance(value, str) or "\n" in value or "\0" in value:
            yield Flaw(f"{pointer}/{escape(str(name))}", "must be a good name with one line of text")


def _is_list_of(names: Any, rule: re.Pattern[str]) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) and rule.fullmatch(name) for name in names)


def _range_flaws(part: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]], pointer: str) -> Iterator[Flaw]:
    for name, (least, most) in ranges.items():
        value = part.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            yield Flaw(f"{pointer}/{name}", f"must be a number between {least:g} and {most:g}")


def _restart_flaws(restart: Any, pointer: str) -> Iterator[Flaw]:
    if not isinstance(restart, Mapping):
        yield Flaw(pointer, "must be an object")
        return
    for member in restart:
        if member not in (*_RESTART, "policy"):
            known = ", ".join(sorted((*_RESTART, "policy")))
            yield Flaw(f"{pointer}/{escape(str(member))}", f"unknown member; known are {known}")
    if restart.get("policy", "on_failure") not in RESTARTS:
        yield Flaw(f"{pointer}/policy", f"must be one of {', '.join(RESTARTS)}")
    yield from _range_flaws(restart, _RESTART, pointer)
