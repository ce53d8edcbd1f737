"""Orgs, platform roles, links to jobs and published endpoints from the command line, against a real server."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.living import Living, living


@pytest.fixture(scope="module")
def rb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Living]:
    with living(tmp_path_factory.mktemp("administration"), "--no-worker") as running:
        yield running


def test_orgs_and_platform_roles_from_the_command_line(rb: Living) -> None:
    assert rb("org", "create", "umbrella", "--name", "Umbrella").out == "made umbrella\n"
    assert "umbrella" in rb("org", "list").out
    assert rb("user", "set", "olga", "admin").out == "olga: admin\n"
    users = {each["user"]: each.get("platformRole") for each in rb("user", "list", "--json").json["users"]}
    assert users["olga"] == "admin"
    assert rb("user", "set", "olga", "none").out == "olga: none\n"
    assert rb("user", "set", "olga", "god").code == 2
    assert rb("org", "create", "umbrella").code == 1


def test_a_link_opens_the_status_of_one_job_until_it_is_revoked(rb: Living, tmp_path: Path) -> None:
    file, here = tmp_path / "x.py", ("--project", "default")
    file.write_text("x = 1")
    assert rb("script", "put", "shared", str(file), *here).code == 0
    job = rb("start", "shared", *here).out.split()[0]
    link = rb("share", "create", job, *here, "--expires", "1h").out.strip()
    with urllib.request.urlopen(link, timeout=30) as answer:
        assert json.load(answer)["status"] == "queued"
    (token_id,) = [each["tokenId"] for each in rb("share", "list", job, *here, "--json").json["tokens"]]
    assert link.partition("token=")[2] not in rb("share", "list", job, *here).out
    assert rb("share", "revoke", job, token_id, *here).code == 0
    with pytest.raises(urllib.error.HTTPError, match=r"40[14]"):
        urllib.request.urlopen(link, timeout=30)


def test_a_script_is_published_and_taken_back(rb: Living, tmp_path: Path) -> None:
    file, here = tmp_path / "x.py", ("--project", "default")
    file.write_text("x = 1")
    assert rb("script", "put", "daily", str(file), *here).code == 0
    assert rb("script", "publish", "reports/daily", "daily", *here).out.strip().endswith("/x/default/reports/daily")
    assert "reports/daily" in rb("script", "endpoints", *here).out
    assert rb("script", "unpublish", "reports/daily", *here).code == 0
    assert rb("script", "endpoints", *here, "--json").json == {"endpoints": []}
    assert rb("script", "publish", "nothing", "nothing", *here).code in (2, 6)
