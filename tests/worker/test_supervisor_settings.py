"""What a worker is told on its command line and in its environment, what it offers, and how it logs."""

import json
import logging
from pathlib import Path

import pytest

from ringback.settings.errors import SettingsError
from ringback.worker.logs import JsonFormatter, LineFormatter
from ringback.worker.offers import capabilities, offers, unserved
from ringback.worker.settings import read_settings


def folder(path: Path, *, worker_token: str | None = None) -> Path:
    """A data folder whose server is at port 1."""
    (path / "server.json").write_text('{"url": "http://127.0.0.1:1", "pid": 1}')
    (path / "owner.token").write_text("rbp_owner\n")
    if worker_token is not None:
        (path / "worker.token").write_text(worker_token)
    return path


def test_a_local_worker_uses_the_token_that_may_only_attach(tmp_path: Path) -> None:
    read = read_settings(["--data", str(folder(tmp_path, worker_token="rbp_worker\n"))], {})
    assert (read.url, read.token, read.pools, read.app) == ("http://127.0.0.1:1", "rbp_worker", ("default",), None)


def test_the_owner_token_serves_where_there_is_no_other(tmp_path: Path) -> None:
    assert read_settings(["--data", str(folder(tmp_path))], {}).token == "rbp_owner"


def test_flags(tmp_path: Path) -> None:
    argv = ["my.tools:app", "--server", "https://far/", "--data", str(tmp_path), "--slots", "3", "--pool", "gpu"]
    argv += ["--pool", "cpu", "--pool", "gpu", "--label", "zone=b=1", "--name", "w", "--drain-grace", "0"]
    read = read_settings(argv, {"RINGBACK_TOKEN": "t", "RINGBACK_PARENT": "77"})
    assert (read.url, read.app, read.slots, read.pools) == ("https://far", "my.tools:app", 3, ("gpu", "cpu"))
    assert (read.labels, read.name, read.drain_grace_s, read.parent_pid) == ({"zone": "b=1"}, "w", 0, 77)
    assert "'t'" not in repr(read)


def test_one_folder_has_one_mark_without_dots(tmp_path: Path) -> None:
    marks = {read_settings(["--data", str(folder(tmp_path))], {}).mark for _ in range(2)}
    assert len(marks) == 1
    assert "." not in marks.pop()


@pytest.mark.parametrize(
    "argv",
    [
        ["--slots", "0"],
        ["--pool", "a/b"],
        ["--pool", ""],
        ["--label", "novalue"],
        ["--drain-grace", "-1"],
        ["no-colon"],
        ["--server", "ftp://x"],
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(argv: list[str], tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings([*argv, "--data", str(folder(tmp_path))], {})
    assert "\n" not in str(caught.value)


def test_a_worker_needs_a_server_and_a_token(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no server"):
        read_settings(["--data", str(tmp_path)], {})
    with pytest.raises(SettingsError, match="no token"):
        read_settings(["--data", str(tmp_path), "--server", "http://far"], {})


def test_a_worker_offers_commands_and_its_functions_in_every_pool() -> None:
    assert offers(["b", "a"], [{"name": "add"}]) == [
        f"{pool}/{need}" for pool in "ab" for need in ("agent", "command", "function:add", "http", "mcp", "script")
    ]


def test_a_function_of_another_pool_is_noticed() -> None:
    definitions = [{"name": "add", "profile": {"pool": "gpu"}}, {"name": "sub", "profile": {}}]
    assert unserved(["default"], definitions) == {"add": "gpu"}


def test_capabilities_have_their_three_members() -> None:
    told = capabilities()
    assert {tuple(sorted(each)) for each in told} == {("name", "supportLevel", "surface")}
    assert {"surface": "core", "name": "output.publish", "supportLevel": "native"} in told


def record(text: str, **facts: object) -> logging.LogRecord:
    """One record with facts."""
    return logging.makeLogRecord({"msg": text, "levelname": "INFO", "name": "n", **facts})


def test_a_line_of_the_log_cannot_be_forged() -> None:
    forged = record("ok\n2026-01-01 ERROR root login", run="a\r\nb\x1b[31m")
    assert "\n" not in LineFormatter().format(forged)
    assert "\x1b" not in LineFormatter().format(forged)
    line = JsonFormatter().format(forged)
    assert "\n" not in line
    assert json.loads(line)["run"] == "a\r\nb\x1b[31m"
