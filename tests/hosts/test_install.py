"""`mcp install`: the right words in the right file of each host, and nothing else."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from ringback.cli.mcp_install import HostName, install
from ringback.hosts import jsonc
from ringback.hosts.known import HOSTS

ARGS = ["mcp", "--project", "lab"]


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")


def run(*words: str) -> Result:
    app = typer.Typer()
    app.command()(install)
    return CliRunner().invoke(app, list(words))


def written(tmp_path: Path) -> dict[str, Any]:
    """Every file below, as a value."""
    found = {}
    for path in sorted(each for each in tmp_path.rglob("*") if each.is_file()):
        read = tomllib.loads if path.suffix == ".toml" else jsonc.read
        found[str(path.relative_to(tmp_path))] = read(path.read_text())
    return found


def hook(dialect: str) -> str:
    return f"ringback inbox --drain --format {dialect} --project lab"


GROUPED = {
    name: [{"hooks": [{"type": "command", "command": hook(name), "timeout": 10}]}]
    for name in ("claude-code-hook", "codex-hook")
}
SERVER = {"command": "ringback", "args": ARGS}
GEMINI = [{"hooks": [{"type": "command", "name": "ringback", "command": hook("gemini-hook"), "timeout": 10_000}]}]
VSCODE = [{"type": "command", "command": hook("vscode-hook"), "timeout": 10}]
PROJECT: dict[str, dict[str, Any]] = {
    "claude-code": {
        "work/.claude/settings.json": {
            "hooks": {"UserPromptSubmit": GROUPED["claude-code-hook"], "Stop": GROUPED["claude-code-hook"]}
        },
        "work/.mcp.json": {"mcpServers": {"ringback": {"type": "stdio", **SERVER}}},
    },
    "codex": {
        "work/.codex/config.toml": {"mcp_servers": {"ringback": {**SERVER, "startup_timeout_sec": 60}}},
        "work/.codex/hooks.json": {"hooks": {"UserPromptSubmit": GROUPED["codex-hook"], "Stop": GROUPED["codex-hook"]}},
    },
    "vscode": {
        "work/.github/hooks/ringback.json": {"hooks": {"SessionStart": VSCODE, "Stop": VSCODE}},
        "work/.vscode/mcp.json": {"servers": {"ringback": {"type": "stdio", **SERVER}}},
    },
    "cursor": {
        "work/.cursor/hooks.json": {
            "version": 1,
            "hooks": {"stop": [{"command": hook("cursor-hook"), "loop_limit": 3}]},
        },
        "work/.cursor/mcp.json": {"mcpServers": {"ringback": SERVER}},
    },
    "gemini": {
        "work/.gemini/settings.json": {
            "mcpServers": {"ringback": {**SERVER, "timeout": 60_000}},
            "hooks": {"BeforeAgent": GEMINI, "AfterAgent": GEMINI},
        }
    },
}


def test_every_host_has_a_name() -> None:
    assert {each.value for each in HostName} == set(HOSTS)


@pytest.mark.parametrize("host", PROJECT)
def test_a_project_gets_server_and_hooks(host: str, tmp_path: Path) -> None:
    words = (host, "--scope", "project", "--hooks", "--project", "lab")
    assert run(*words).exit_code == 0
    assert written(tmp_path) == PROJECT[host]
    again = run(*words)
    assert (again.exit_code, "changed" in again.stdout) == (0, False)
    assert written(tmp_path) == PROJECT[host]


@pytest.mark.parametrize(
    ("host", "place", "members"),
    [
        ("claude-code", ".claude.json", ["mcpServers"]),
        ("codex", ".codex/config.toml", ["mcp_servers"]),
        ("cursor", ".cursor/mcp.json", ["mcpServers"]),
        ("gemini", ".gemini/settings.json", ["mcpServers"]),
        ("opencode", ".config/opencode/opencode.json", ["mcp"]),
    ],
)
def test_a_person_gets_it_everywhere(host: str, place: str, members: list[str], tmp_path: Path) -> None:
    done = run(host)
    assert done.exit_code == 0, done.output
    ((path, found),) = written(tmp_path).items()
    entry = found[members[0]]["ringback"]
    command = entry["command"]
    program = command if isinstance(command, str) else command[0]
    assert (path, Path(program).name) == (f"home/{place}", "ringback")
    assert "mcp" in (entry.get("args") or command)


def test_goose_gets_an_extension(tmp_path: Path) -> None:
    assert run("goose").exit_code == 0
    lines = (tmp_path / "home" / ".config" / "goose" / "config.yaml").read_text().splitlines()
    assert lines[:5] == ["extensions:", "  ringback:", "    enabled: true", '    type: "stdio"', '    name: "ringback"']
    assert lines[6].startswith("    cmd: ")
    assert lines[7:] == ['    args: ["mcp"]', "    timeout: 300"]


def test_vscode_has_a_place_for_each_person(tmp_path: Path) -> None:
    assert run("vscode").exit_code == 0
    ((path, found),) = written(tmp_path).items()
    assert path.endswith("Code/User/mcp.json")
    assert "ringback" in found["servers"]


def test_what_was_there_stays_and_an_older_hook_gives_way(tmp_path: Path) -> None:
    place = tmp_path / "work" / ".claude" / "settings.json"
    place.parent.mkdir()
    theirs = {"matcher": "x", "hooks": [{"type": "command", "command": "lint"}]}
    old = {"hooks": [{"type": "command", "command": "/old/ringback inbox --drain --format claude-code-hook"}]}
    place.write_text(json.dumps({"model": "m", "hooks": {"Stop": [theirs, old], "PreToolUse": [theirs]}}))
    assert run("claude-code", "--scope", "project", "--hooks", "--project", "lab").exit_code == 0
    found = written(tmp_path)["work/.claude/settings.json"]
    assert (found["model"], found["hooks"]["PreToolUse"]) == ("m", [theirs])
    assert found["hooks"]["Stop"] == [theirs, *GROUPED["claude-code-hook"]]


def test_opencode_keeps_to_the_file_that_is_there(tmp_path: Path) -> None:
    place = tmp_path / "work" / "opencode.jsonc"
    place.write_text("{} // mine")
    assert run("opencode", "--scope", "project").exit_code == 0
    assert "// mine" in place.read_text()
    assert list(written(tmp_path)) == ["work/opencode.jsonc", "work/opencode.jsonc.before-ringback"]


def test_print_changes_nothing(tmp_path: Path) -> None:
    done = run("codex", "--print", "--hooks", "--data", "d")
    assert f'args = ["mcp", "--data", "{tmp_path / "work" / "d"}"]' in done.stdout
    files = json.loads(run("codex", "--print", "--json").stdout)["files"]
    assert [each["changed"] for each in files] == [False]
    assert written(tmp_path) == {}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["goose", "--scope", "project"], "--scope user"),
        (["goose", "--hooks"], "no hooks"),
        (["opencode", "--hooks"], "no hooks"),
        (["vscode", "--hooks"], "--scope project"),
    ],
)
def test_what_a_host_cannot_do_is_said(words: list[str], why: str, tmp_path: Path) -> None:
    done = run(*words)
    assert (done.exit_code, why in done.output) == (1, True)
    assert written(tmp_path) == {}


def test_a_broken_file_stops_it_before_anything_is_written(tmp_path: Path) -> None:
    place = tmp_path / "home" / ".codex" / "hooks.json"
    place.parent.mkdir()
    place.write_text('{"hooks": {"Stop": 1}}')
    done = run("codex", "--hooks", "--json")
    assert (done.exit_code, json.loads(done.stdout)["error"]["code"]) == (1, "host_file")
    assert [str(each) for each in place.parent.iterdir()] == [str(place)]
