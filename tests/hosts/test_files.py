"""Files of others: one member changes, every other byte stays, and what can't be changed safely is left alone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ringback.hosts import jsonc
from ringback.hosts.errors import HostFileError
from ringback.hosts.files import BACKUP, carry_out, planned
from ringback.hosts.known import Change
from ringback.hosts.tables import put_toml, put_yaml

SETTINGS = """// mine
{
  /* servers */
  "servers": {
    "other": { "command": "x", "args": ["a", "b",], }, // keep
  },
  "url": "http://x//y"
}
"""


def test_comments_and_layout_stay() -> None:
    changed = jsonc.put(SETTINGS, ["servers", "ringback"], {"command": "ringback"})
    assert jsonc.read(changed)["servers"] == {
        "ringback": {"command": "ringback"},
        "other": {"command": "x", "args": ["a", "b"]},
    }
    assert [line for line in SETTINGS.splitlines() if line not in changed.splitlines()] == []
    assert jsonc.put(changed, ["servers", "ringback"], {"command": "ringback"}) == changed
    replaced = jsonc.put(changed, ["servers", "ringback"], {"command": "other"})
    assert replaced == changed.replace('"command": "ringback"', '"command": "other"')


@pytest.mark.parametrize(
    "text", ["", " \n", "{}", "{\n}\n", "{ // nothing yet\n}", '{"servers": {}}', '{"servers":{"a":1}}']
)
def test_what_is_missing_is_made(text: str) -> None:
    changed = jsonc.put(text, ["servers", "ringback"], {"a": [1]})
    assert jsonc.read(changed)["servers"]["ringback"] == {"a": [1]}
    assert ("// nothing yet" in changed) == ("// nothing yet" in text)


@pytest.mark.parametrize("text", ["[1]", '"x"', "{", '{"servers": 1}', "{'a': 1}", '{"a" 1}', "nope"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(HostFileError):
        jsonc.put(text, ["servers", "ringback"], {})


names = st.text(max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(names, values, max_size=4), st.sampled_from([None, 2]), names, values)
def test_any_object_keeps_the_rest(before: dict[str, Any], indent: int | None, name: str, value: Any) -> None:
    changed = jsonc.put(json.dumps(before, indent=indent), [name], value)
    assert json.loads(changed) == {**before, name: value}


TOML = """# mine
model = "x"

[mcp_servers.other]  # keep
command = "y"

[mcp_servers.ringback]
command = "old"
[mcp_servers.ringback.env]
A = "1"

[profiles.a]
b = 1
"""


def test_a_toml_table_is_replaced_whole_and_alone() -> None:
    value = {"command": "ringback", "args": ["mcp", 'a "b"'], "timeout": 60, "env": {"B": "2"}}
    changed = put_toml(TOML, ["mcp_servers", "ringback"], value)
    assert tomllib.loads(changed)["mcp_servers"] == {"other": {"command": "y"}, "ringback": value}
    assert "[mcp_servers.other]  # keep" in changed
    assert tomllib.loads(changed)["profiles"] == {"a": {"b": 1}}
    assert put_toml(changed, ["mcp_servers", "ringback"], value) == changed
    assert tomllib.loads(put_toml("", ["mcp_servers", "ringback"], value))["mcp_servers"]["ringback"] == value


@pytest.mark.parametrize("text", ["a = ", "mcp_servers = 1", "mcp_servers = { ringback = { command = 'x' } }"])
def test_toml_that_cannot_be_changed_safely_is_refused(text: str) -> None:
    with pytest.raises(HostFileError):
        put_toml(text, ["mcp_servers", "ringback"], {"command": "y"})


ENTRY = """  ringback:
    enabled: true
    args: ["mcp", "--data", "/a: b"]
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"extensions:\n{ENTRY}"),
        ("a: 1\n", f"a: 1\nextensions:\n{ENTRY}"),
        ("extensions: {}\nb: 1\n", f"extensions:\n{ENTRY}b: 1\n"),
        ("extensions:\n", f"extensions:\n{ENTRY}"),
        (
            "a: x # mine\nextensions: # all\n  # one\n  dev:\n    b: 1\n\nc: 2\n",
            f"a: x # mine\nextensions: # all\n  # one\n  dev:\n    b: 1\n{ENTRY}c: 2\n",
        ),
        (
            "extensions:\n  ringback:\n    cmd: old\n  dev:\n    b: 1\n",
            f"extensions:\n  dev:\n    b: 1\n{ENTRY}",
        ),
        (
            'extensions:\n    dev:\n        b: 1\n    "ringback":\n        cmd: old\n',
            "extensions:\n    dev:\n        b: 1\n"
            + ENTRY.replace("    ", "      ").replace("  ringback", "    ringback"),
        ),
    ],
)
def test_a_yaml_entry_is_put_into_its_block(before: str, after: str) -> None:
    value = {"enabled": True, "args": ["mcp", "--data", "/a: b"]}
    changed = put_yaml(before, "extensions", "ringback", value)
    assert changed == after
    assert put_yaml(changed, "extensions", "ringback", value) == changed


@pytest.mark.parametrize("text", ["extensions: {a: 1}\n", "extensions:\n- a\n", "extensions:\n\ta: 1\n"])
def test_yaml_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(HostFileError):
        put_yaml(text, "extensions", "ringback", {"a": 1})


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def change(path: Path) -> Change:
    return Change(path, lambda text: jsonc.put(text, ["a"], 1))


def test_a_file_is_replaced_with_a_copy_of_what_it_was(tmp_path: Path) -> None:
    place, link = tmp_path / "real.json", tmp_path / "link.json"
    place.write_text('{"b": 2}')
    place.chmod(0o640)
    link.symlink_to(place)
    assert carry_out(change(link)) is True
    assert (link.is_symlink(), json.loads(place.read_text()), place.stat().st_mode & 0o777) == (
        True,
        {"a": 1, "b": 2},
        0o640,
    )
    assert (tmp_path / f"real.json{BACKUP}").read_text() == '{"b": 2}'
    assert carry_out(change(link)) is False
    assert carry_out(change(tmp_path / "deep" / "new.json")) is True
    assert names_in(tmp_path) == ["deep", "link.json", "real.json", f"real.json{BACKUP}"]


def test_what_may_not_be_touched_stays(tmp_path: Path) -> None:
    place = tmp_path / "x.json"
    place.write_text("{}")
    place.chmod(0o400)
    with pytest.raises(HostFileError, match="read-only"):
        carry_out(change(place))
    place.chmod(0o600)
    place.write_bytes(b"\xff")
    with pytest.raises(HostFileError, match="no text"):
        planned(change(place))
    place.write_text("[]")
    with pytest.raises(HostFileError, match=r"x\.json: it holds"):
        carry_out(change(place))
    assert (place.read_text(), names_in(tmp_path)) == ("[]", ["x.json"])
    with pytest.raises(HostFileError):
        planned(change(tmp_path))


def test_somebody_elses_change_is_not_lost(tmp_path: Path) -> None:
    place = tmp_path / "x.json"
    place.write_text("{}")

    def edit(text: str) -> str:
        place.write_text('{"theirs": 1}')
        return text + "ours"

    with pytest.raises(HostFileError, match="somebody else"):
        carry_out(Change(place, edit))
    assert (place.read_text(), names_in(tmp_path)) == ('{"theirs": 1}', ["x.json"])
