"""Claude Code's terminal program in a pseudo-terminal, with a home that is prepared so that it asks nothing.

    python -m tests.hosts.claude_code PROGRAM FOLDER TRANSCRIPT

drives one conversation offline: a test run of 30 s is started through Ringback, another question is answered meanwhile, and the
summary arrives by itself. The transcript holds what the model was asked, with the time.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.cli.living import living
from tests.hosts.scripted_model import Model, Reply, serving

TOOL = "mcp__ringback__test_run"
SUMMARY = "412 passed, 3 failed (auth/session.test.ts)"
KEY = "sk-dummy-local"
TOOLS = f"""
[tools.test_run]
description = "Run the tests. Takes half a minute."
command = ["{{python}}", "-c", "import time; time.sleep(30); print('{SUMMARY}')"]
mode = "task"
"""


def said(body: dict[str, Any]) -> str:
    """What the model was asked last, as text."""
    content = (body.get("messages") or [{"content": ""}])[-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text") or block.get("content") or "") for block in content)


def script(body: dict[str, Any]) -> Reply:
    """Start the tests when asked to; answer the other question; say what arrived."""
    messages = body.get("messages", [])
    if TOOL not in [tool.get("name") for tool in body.get("tools", [])]:
        return "Tests"  # the host asks for titles and the like
    last, so_far = said(body), json.dumps(messages)
    if SUMMARY in last:
        return f"The tests have ended: {SUMMARY}"
    if "capital" in last:
        return "Paris."
    if '"tool_use"' not in so_far and "run the tests" in so_far:
        return {"name": TOOL, "input": {}}
    return "They run in the background."


class Terminal:
    """The program and what it writes."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(command[0], command, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.written = b""

    def until(self, is_there: Callable[[], bool], within_s: float) -> bool:
        """Read what it writes until something is so."""
        end = time.monotonic() + within_s
        while not is_there() and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.written += os.read(self.fd, 65_536)
                except OSError:
                    break
        return is_there()

    def type(self, text: str) -> None:
        """Type a line, and send it once it stands there."""
        before = len(self.written)
        os.write(self.fd, text.encode())
        self.until(lambda: text.split()[-1].encode() in self.written[before:], 5)
        os.write(self.fd, b"\r")

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def prepared(home: Path, work: Path, program: str, url: str) -> dict[str, str]:
    """A home in which everything is answered already, and the environment for it."""
    for folder in (home, work):
        folder.mkdir(parents=True, exist_ok=True)
    trusted = {"hasTrustDialogAccepted": True, "allowedTools": [], "hasCompletedProjectOnboarding": True}
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(work): trusted},
    }
    (home / ".claude.json").write_text(json.dumps(settings))
    return {
        "HOME": str(home),
        "PATH": f"{Path(program).parent}:/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "ENABLE_TOOL_SEARCH": "false",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def converse(program: str, folder: Path) -> tuple[Model, dict[str, float], bytes]:
    """The whole conversation: what the model was asked, when things happened, and the screen."""
    times: dict[str, float] = {}
    with living(folder / "server", tools=TOOLS) as rb, serving(script) as model:
        server = {"command": sys.executable, "args": ["-m", "ringback", "mcp", "--data", str(rb.data)]}
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"ringback": {"type": "stdio", **server}}}))
        work = (folder / "work").absolute()
        env = prepared(folder / "home", work, program, model.url)
        command = [program, "--mcp-config", str(folder / "mcp.json"), "--strict-mcp-config", "--allowedTools", TOOL]

        terminal = Terminal(command, work, env)
        try:
            terminal.until(lambda: "❯".encode() in terminal.written, 60)
            terminal.until(lambda: False, 4)
            _talk(terminal, model, times)
        finally:
            terminal.close()
    return model, times, terminal.written


def _talk(terminal: Terminal, model: Model, times: dict[str, float]) -> None:
    """Say the lines, each once the one before was answered; how long each took, in seconds."""
    terminal.type("run the tests")
    for name, text, line in (
        ("started", "They run in the background.", "what is the capital of France?"),
        ("answered", "Paris.", ""),
        ("told", f"The tests have ended: {SUMMARY}", ""),
    ):
        began = time.monotonic()
        if terminal.until(partial(_has_replied, model, text), 120):
            times[name] = time.monotonic() - began
        if line:
            terminal.type(line)


def _has_replied(model: Model, text: str) -> bool:
    return any(reply == text for _, _, reply in model.asked)


def transcript(model: Model, times: dict[str, float]) -> str:
    """What the model was asked and said, for reading."""
    lines = []
    for at, body, reply in model.asked:
        if TOOL in [tool.get("name") for tool in body.get("tools", [])]:
            lines += [
                f"[{at:6.1f} s] to the model:",
                said(body)[-1500:],
                f"[{at:6.1f} s] the model: {json.dumps(reply)}",
                "",
            ]
    return "\n".join([*lines, "seconds: " + json.dumps({name: round(value, 1) for name, value in times.items()}), ""])


def main() -> None:
    """Drive it once and keep the transcript."""
    program, folder, target = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    model, times, screen = converse(str(Path(program).absolute()), Path(folder).absolute())
    Path(target).write_text(transcript(model, times))
    Path(folder, "screen").write_bytes(screen)


if __name__ == "__main__":
    main()
