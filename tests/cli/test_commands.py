"""The commands as a whole, without a server: help, usage, exit codes, and what they do not import."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ringback.cli.main import CATALOGUE, ENTRIES, app, load
from tests.cli.command import environment, ringback


def test_the_help_names_every_command_in_its_own_words() -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    for panel, entries in CATALOGUE.items():
        assert f"{panel}:" in text
        for name, entry in entries.items():
            assert re.search(rf"^  {name} +{re.escape(entry.help)}$", text, re.MULTILINE)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_commands_line_is_how_its_own_help_begins(name: str) -> None:
    entry = ENTRIES[name]
    own = " ".join((load(name).help or "").split())
    first = entry.help.removesuffix(".")
    assert own.startswith(first), own


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if not entry.forwards])
def test_every_command_has_help_and_json(name: str) -> None:
    text = CliRunner().invoke(app, [name, "--help"]).output
    assert text.startswith(f"Usage: ringback {name}")
    groups = {"alias", "db", "grant", "mcp", "member", "org", "project", "share", "user", "wrap"}
    assert "--json" in text or name in groups


@pytest.mark.parametrize(
    "words",
    [["nothing"], ["list", "--limit", "x"], ["list", "--limit", "0"], ["show"], ["list", "--nothing"], []],
)
def test_wrong_usage_exits_2(words: list[str]) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2


def test_a_near_name_is_suggested() -> None:
    assert "Did you mean 'list'" in CliRunner().invoke(app, ["lsit"]).output


def test_numbers_are_checked_before_anything_is_sent() -> None:
    assert "'x' is not a whole number." in CliRunner().invoke(app, ["list", "-n", "x"]).output
    assert "0 is less than 1." in CliRunner().invoke(app, ["list", "-n", "0"]).output


def test_without_a_server_the_way_to_one_is_named(tmp_path: Path) -> None:
    done = ringback(tmp_path, "list")
    assert done.code == 5
    assert "ringback up" in done.err
    assert done.out == ""


def test_without_a_server_json_says_so_too(tmp_path: Path) -> None:
    done = ringback(tmp_path, "list", "--json", "--url", "http://127.0.0.1:9")
    assert done.code == 5
    assert done.json["error"]["code"] == "unreachable"
    assert done.json["error"]["retryable"] is True


def test_input_that_is_no_input_exits_2(tmp_path: Path) -> None:
    done = ringback(tmp_path, "start", "test", "--not-before", "2027-03-28 02:30")
    assert (done.code, "no offset" in done.err) == (2, True)
    assert ringback(tmp_path, "wait", "job_1", "--timeout", "soon").code == 2
    assert ringback(tmp_path, "list", env={"RINGBACK_URL": "nowhere"}).code == 2


def test_token_and_down_say_what_is_missing(tmp_path: Path) -> None:
    assert ringback(tmp_path, "token").code == 6
    assert ringback(tmp_path, "down").code == 5


def test_the_token_is_printed_alone(tmp_path: Path) -> None:
    (tmp_path / "owner.token").write_text("rbp_x\n")
    assert ringback(tmp_path, "token").out == "rbp_x\n"
    assert ringback(tmp_path, "token", "--json").json["token"] == "rbp_x"


def test_init_writes_a_file_that_can_be_read_and_never_over_one(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    done = ringback(tmp_path, "init", "--json")
    assert done.code == 0
    assert (tmp_path / "ringback.toml").exists()
    again = ringback(tmp_path, "init")
    assert (again.code, "--force" in again.err) == (1, True)
    assert ringback(tmp_path, "init", "--force").code == 0


def test_apply_tells_every_problem_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "ringback.toml").write_text("[tools.a]\ncomand = 1\n[tools.b]\ncommand = 2\n")
    done = ringback(tmp_path, "apply")
    assert done.code == 2
    assert "`command`" in done.err
    assert "[tools.b]" in done.err


@pytest.mark.parametrize("words", [["--help"], ["list"], ["start", "x", "a=b"], ["down"], ["token"]])
def test_starting_is_light(tmp_path: Path, words: list[str]) -> None:
    script = (
        "import sys, atexit\n"
        "heavy = {'pydantic', 'httpx2', 'fastapi', 'starlette', 'uvicorn', 'msgspec', 'asyncio', 'rich', 'structlog'}\n"
        "atexit.register(lambda: print('LOADED', sorted(heavy & set(sys.modules))))\n"
        f"sys.argv = ['ringback', *{words!r}]\n"
        "from ringback.cli.main import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "LOADED []" in done.stdout, done.stdout + done.stderr
