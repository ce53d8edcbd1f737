"""Secrets that lie in a folder, one file each, as containers and service managers mount them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringback.worker.assignment import Assignment
from ringback.worker.environment import MissingSecretError, known_secrets, secrets_of


def assignment(*names: str) -> Assignment:
    return Assignment(run_id="r", attempt_id="a", tool="t", runtime="command", profile={"secrets": list(names)})


@pytest.fixture
def worker(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "DEPLOY_TOKEN").write_text("from-a-file\n")
    (folder / "BOTH").write_text("from-a-file")
    (folder / "BROKEN").write_bytes(b"\xff")
    (tmp_path / "OUTSIDE").write_text("outside")
    return {"RINGBACK_SECRETS_DIR": str(folder), "BOTH": "from-a-variable"}


def test_a_file_is_a_secret_and_a_variable_wins(worker: dict[str, str]) -> None:
    assert secrets_of(assignment("DEPLOY_TOKEN", "BOTH"), worker) == {
        "DEPLOY_TOKEN": "from-a-file",
        "BOTH": "from-a-variable",
    }


@pytest.mark.parametrize("name", ["NOTHING", "BROKEN", "../OUTSIDE", "/etc/hostname", ".", ""])
def test_what_is_no_file_of_the_folder_is_missing(worker: dict[str, str], name: str) -> None:
    assert known_secrets([name], worker) == {}
    with pytest.raises(MissingSecretError):
        secrets_of(assignment(name), worker)


def test_a_file_that_changes_is_read_again(worker: dict[str, str]) -> None:
    file = Path(worker["RINGBACK_SECRETS_DIR"]) / "DEPLOY_TOKEN"
    file.write_text("rotated")
    assert secrets_of(assignment("DEPLOY_TOKEN"), worker) == {"DEPLOY_TOKEN": "rotated"}
