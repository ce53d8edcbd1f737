"""Settings: a flag beats a variable, a variable beats the file, and nobody is left guessing about a wrong one."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ringback.settings import ServerSettings, SettingsError, default_data_folder, find_connection, load_server_settings
from ringback.settings.checking import Checked

ENV = {"HOME": "/home-of-tests"}


def loaded(folder: Path, flags: dict[str, Any] | None = None, **variables: str) -> ServerSettings:
    return load_server_settings(flags, environ=ENV | variables, folder=folder)


def test_precedence(tmp_path: Path) -> None:
    assert loaded(tmp_path).port == 7878
    (tmp_path / "ringback.toml").write_text('[server]\nport = 1000\nhost = "::1"\ndata = "state"\n')
    assert loaded(tmp_path).port == 1000
    assert loaded(tmp_path).data == tmp_path / "state", "a path in the file is relative to the file"
    assert loaded(tmp_path, RINGBACK_PORT="2000").port == 2000
    found = loaded(tmp_path, {"port": 3000, "host": None}, RINGBACK_PORT="2000")
    assert (found.port, found.host) == (3000, "::1")
    assert loaded(tmp_path, RINGBACK_PORT="", RINGBACK_NO_WORKER="true").no_worker


@pytest.mark.parametrize(
    ("text", "variables", "said"),
    [
        (
            "[server]\nprot = 1",
            {},
            r"unknown key `prot` in \[server\] of ringback.toml; the nearest known key is `port`",
        ),
        ("[server]\nport = 70000", {}, r"\[server\] of ringback.toml: .*65535"),
        ("server = 1", {}, "must be a table"),
        ("[server", {}, "ringback.toml cannot be read"),
        ("", {"RINGBACK_PROT": "1"}, "unknown key `RINGBACK_PROT` in the environment; .* `RINGBACK_PORT`"),
        ("", {"RINGBACK_PORT": "x"}, "RINGBACK_PORT: "),
        ("", {"RINGBACK_STORE": "mysql://h/d"}, "RINGBACK_STORE: must start with sqlite:// or postgresql://"),
        ("", {"RINGBACK_DISPATCH": "x"}, "RINGBACK_DISPATCH: must be `builtin`"),
        ("", {"RINGBACK_PUBLIC_URL": "x.org"}, "RINGBACK_PUBLIC_URL: must start with http:// or https://"),
    ],
)
def test_a_wrong_setting_is_told_in_one_line(tmp_path: Path, text: str, variables: dict[str, str], said: str) -> None:
    (tmp_path / "ringback.toml").write_text(text)
    with pytest.raises(SettingsError, match=said) as caught:
        loaded(tmp_path, None, **variables)
    assert "\n" not in str(caught.value)


def test_variables_of_others_are_left_alone(tmp_path: Path) -> None:
    assert loaded(tmp_path, RINGBACK_URL="x", RINGBACK_TOKEN="t", RINGBACK_PROJECT="p").port == 7878
    assert loaded(tmp_path, RINGBACK_ATTEMPT="a", RINGBACK_WORKER="w", RINGBACK_RUN="r").port == 7878


def test_what_is_checked_is_what_there_is() -> None:
    assert set(Checked.model_fields) == {field.name for field in fields(ServerSettings)}


def test_settings_travel_to_another_process(tmp_path: Path) -> None:
    first = loaded(tmp_path, {"data": tmp_path, "slots": 3, "file": Path("x.toml")})
    assert ServerSettings.from_json(first.model_dump_json()) == first
    assert first.store_url == f"sqlite:///{tmp_path}/ringback.db"


def test_the_data_folder_is_the_platforms_unless_named() -> None:
    assert default_data_folder({"RINGBACK_DATA": "/x/y"}) == Path("/x/y")
    assert default_data_folder(ENV).name == "ringback"


def write_server(folder: Path, url: str, token: str = "rbp_owner") -> None:
    (folder / "server.json").write_text(f'{{"url": "{url}", "pid": 1}}')
    (folder / "owner.token").write_text(token + "\n")


def test_a_client_finds_the_server_of_the_data_folder(tmp_path: Path) -> None:
    write_server(tmp_path, "http://127.0.0.1:1/")
    found = find_connection(environ=ENV | {"RINGBACK_DATA": str(tmp_path)})
    assert (found.url, found.token, found.is_local) == ("http://127.0.0.1:1", "rbp_owner", True)
    assert "rbp_owner" not in repr(found)


def test_the_owners_token_goes_nowhere_else(tmp_path: Path) -> None:
    write_server(tmp_path, "http://127.0.0.1:1")
    env = ENV | {"RINGBACK_DATA": str(tmp_path), "RINGBACK_URL": "https://elsewhere.example"}
    found = find_connection(environ=env)
    assert (found.url, found.token) == ("https://elsewhere.example", None)
    assert find_connection(environ=env | {"RINGBACK_TOKEN": "t"}).token == "t"
    assert find_connection(data=tmp_path, environ=env).url == "http://127.0.0.1:1", "a named folder beats the variable"


def test_without_a_server_there_is_no_address(tmp_path: Path) -> None:
    assert find_connection(data=tmp_path, environ=ENV).url is None
    (tmp_path / "server.json").write_text('{"url')
    assert find_connection(data=tmp_path, environ=ENV).url is None
    with pytest.raises(SettingsError, match="http://"):
        find_connection(url="ftp://x", environ=ENV)
