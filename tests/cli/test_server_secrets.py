"""What the server lends by name: only what its operator marked, whatever a definition names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringback.client import Ringback
from ringback.settings.secret_values import secret_value

ENVIRON = {
    "RINGBACK_SECRET_DEPLOY": "d",
    "DEPLOY": "other",
    "RINGBACK_OWNER_TOKEN": "o",
    "HOME": "/h",
    "RINGBACK_SECRET_": "x",
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DEPLOY", "d"),
        ("HOME", None),
        ("RINGBACK_OWNER_TOKEN", None),
        ("RINGBACK_SECRET_DEPLOY", None),
        ("NOTHING", None),
    ],
)
def test_only_what_is_marked_is_lent(name: str, value: str | None) -> None:
    assert secret_value(name, environ=ENVIRON) == value


TOOLS = """
[tools.look]
description = "Show the environment"
command = ["env"]
env_allow = ["RINGBACK_SECRET_DEPLOY", "MARK"]
"""


def test_a_worker_of_the_server_hands_none_of_them_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even to a tool that names the variable whole."""
    file = tmp_path / "ringback.toml"
    file.write_text(TOOLS)
    monkeypatch.setenv("RINGBACK_SECRET_DEPLOY", "the-value")
    monkeypatch.setenv("MARK", "seen")
    with Ringback.embedded(tmp_path / "data", file=file) as client:
        job = client.start("look")
        assert job.wait().status == "done"
        output = "".join(str(page.output) for page in job.pages())
    assert "MARK=seen" in output
    assert "the-value" not in output
