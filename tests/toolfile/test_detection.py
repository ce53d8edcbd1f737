"""What `ringback init` recognises, and that the file it writes can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ringback.domain.commands import render
from ringback.toolfile import FILE_NAME, Suggestion, detect, load, parse, render_toml, write_file
from ringback.toolfile.detection import SUGGESTIONS_MAX
from ringback.toolfile.tools import NAME


def repository(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return folder


def commands(folder: Path) -> dict[str, tuple[str, ...]]:
    """Writes the file, reads it again, and renders each command without inputs."""
    file = load(write_file(folder, detect(folder), force=True))
    return {tool["name"]: render(tool["profile"], {}) for tool in file.tools}


def package(**scripts: str) -> str:
    return json.dumps({"name": "p", "scripts": scripts})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pytest.ini": "[pytest]", "setup.py": ""}, {"test": "python -m pytest -q"}),
        ({"pyproject.toml": "[tool.pytest.ini_options]", "uv.lock": ""}, {"test": "uv run pytest -q"}),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n[tool.poetry]"}, {"test": "poetry run pytest -q"}),
        ({"pyproject.toml": "[tool.hatch.envs.default]\ndependencies=['pytest']"}, {"test": "hatch run pytest -q"}),
        ({"setup.cfg": "[tool:pytest]"}, {"test": "python -m pytest -q"}),
        ({"requirements-dev.txt": "pytest==8", "requirements.txt": ""}, {"test": "python -m pytest -q"}),
        ({"tests/test_a.py": "def test_a(): pass"}, {"test": "python -m pytest -q"}),
        ({"Pipfile": "[dev-packages]\npytest='*'"}, {"test": "pipenv run pytest -q"}),
        ({"setup.py": "", ".venv/bin/python": "", "tests/conftest.py": ""}, {"test": ".venv/bin/python -m pytest -q"}),
        ({"setup.py": "", "tests/test_a.py": "import unittest"}, {"test": "python -m unittest discover -s tests"}),
        ({"setup.py": "", "tests/test_a.py": "import unittest", "tests/__init__.py": ""},
         {"test": "python -m unittest discover -s tests -t ."}),
        ({"setup.py": "", "uv.lock": "", "test/test_a.py": "import unittest"},
         {"test": "uv run python -m unittest discover -s test"}),
        ({"tox.ini": "[tox]\n[pytest]"}, {"test": "python -m pytest -q", "tox": "tox"}),
        ({"noxfile.py": ""}, {"nox": "nox"}),
        ({"pyproject.toml": "[tool.ruff]\n[tool.mypy]", "uv.lock": ""},
         {"lint": "uv run ruff check", "typecheck": "uv run mypy ."}),
        ({"package.json": package(test="node --test", build="tsc", dev="vite", **{"test:watch": "x"})},
         {"test": "npm run test", "build": "npm run build"}),
        ({"package.json": package(test="vitest run"), "pnpm-lock.yaml": ""}, {"test": "pnpm run test"}),
        ({"package.json": package(**{"test:unit": "jest", "type-check": "tsc"}), "yarn.lock": ""},
         {"test_unit": "yarn run test:unit", "type_check": "yarn run type-check"}),
        ({"package.json": '{"packageManager": "bun@1.2", "scripts": {"lint": "x"}}'}, {"lint": "bun run lint"}),
        ({"Cargo.toml": "[package]"}, {"test": "cargo test", "build": "cargo build", "lint": "cargo clippy --all-targets"}),
        ({"Cargo.toml": "[workspace]", "a/Cargo.toml": "[package]"},
         {"test": "cargo test --workspace", "build": "cargo build --workspace",
          "lint": "cargo clippy --workspace --all-targets"}),
        ({"go.mod": "module x"}, {"test": "go test ./...", "lint": "go vet ./...", "build": "go build ./..."}),
        ({"Makefile": ".PHONY: test\nCC := gcc\ntest lint: a.o\n\tpytest\na.o: a.c\n%.o: %.c\ndeploy:\n\tx\n"},
         {"test": "make test", "lint": "make lint"}),
        ({"justfile": "set shell := ['sh']\nv := '1'\ntest *args:\n  x\nbuild t='all': test\n x\n_check:\n x\nlint f:\n x"},
         {"test": "just test", "build": "just build"}),
        ({"deno.jsonc": '{ // c\n "tasks": {"build": "x"} /* d */ }'}, {"build": "deno task build", "test": "deno test"}),
        ({"pom.xml": "<project/>", "mvnw": "", "a/pom.xml": ""},
         {"test": "./mvnw -B -ntp test", "build": "./mvnw -B -ntp -DskipTests package"}),
        ({"build.gradle.kts": "", "settings.gradle.kts": "", "a/build.gradle.kts": ""},
         {"test": "gradle --console=plain test", "build": "gradle --console=plain assemble"}),
        ({"A.sln": "", "A/A.csproj": ""}, {"test": "dotnet test --nologo", "build": "dotnet build --nologo"}),
        ({"Gemfile": "", "spec/a_spec.rb": ""}, {"test": "bundle exec rspec --no-color"}),
        ({"Rakefile": "Rake::TestTask.new"}, {"test": "rake test"}),
        ({"Rakefile": "task :x"}, {"rake": "rake"}),
        ({"composer.json": '{"scripts": {"test": "x"}}', "phpunit.xml": ""},
         {"test": "composer run-script --no-interaction test"}),
        ({"phpunit.xml.dist": ""}, {"test": "vendor/bin/phpunit --colors=never --log-junit=junit.xml"}),
        ({"MODULE.bazel": ""},
         {"test": "bazel test --color=no --curses=no -- //...", "build": "bazel build --color=no --curses=no -- //..."}),
        ({".pre-commit-config.yaml": ""}, {"pre_commit": "pre-commit run --all-files --color=never"}),
        ({"compose.yaml": ""}, {"build_images": "docker compose --progress=plain build"}),
        ({"Makefile": "test:\n", "package.json": package(test="x"), "go.mod": ""},
         {"test": "make test", "test_npm": "npm run test", "test_go": "go test ./...", "lint": "go vet ./...",
          "build": "go build ./..."}),
        ({"web/app/package.json": package(test="jest"), "package.json": "{}", "package-lock.json": "{}"},
         {"web_app_test": "npm run test"}),
        ({"README.md": ""}, {}),
    ],
)  # fmt: skip
def test_detects(tmp_path: Path, files: dict[str, str], expected: dict[str, str]) -> None:
    found = commands(repository(tmp_path, files))
    assert {name: " ".join(argv) for name, argv in found.items()} == expected


def test_inputs_reach_the_command(tmp_path: Path) -> None:
    repository(tmp_path, {"web/package.json": package(test="vitest run"), "pytest.ini": "[pytest]"})
    tools = {tool["name"]: tool for tool in load(write_file(tmp_path, detect(tmp_path))).tools}
    web, own = tools["web_test"], tools["test"]
    assert render(web["profile"], {"path": "a"}) == ("npm", "run", "test", "--", "a")
    assert (web["profile"]["cwd"], web["profile"]["env"], web["summary"]) == (
        str(tmp_path / "web"),
        {"CI": "true"},
        "vitest",
    )
    assert render(own["profile"], {"path": "a", "keyword": "b"})[-3:] == ("-k", "b", "a")
    assert own["summary"] == "pytest"


def test_products_and_links_are_not_entered(tmp_path: Path) -> None:
    outside = repository(tmp_path / "outside", {"go.mod": ""})
    repo = repository(
        tmp_path / "repo",
        {
            "node_modules/a/package.json": package(test="x"),
            ".hidden/go.mod": "",
            "a/b/c/d/go.mod": "",
            "target/go.mod": "",
        },
    )
    (repo / "link").symlink_to(outside, target_is_directory=True)
    (repo / "package.json").symlink_to(repository(tmp_path, {"p.json": package(test="x")}) / "p.json")
    (repo / "loop").symlink_to(repo, target_is_directory=True)
    (repo / "Makefile").symlink_to(repo / "Makefile")
    assert detect(repo) == []


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": "[", "pyproject.toml": "x = ", "tox.ini": "no", "deno.json": "5", "composer.json": "[]"},
        {"package.json": '{"scripts": 5}', "pyproject.toml": "tool = 5", "composer.json": '{"scripts": []}'},
        {"package.json": '{"scripts": {"test": 5, "lint": null}, "packageManager": 7}'},
        {
            "package.json": '{"scripts": {"test\\n[tools.x]": "", "test\\u0000": "", "-test": "", "test:\\"": "", "": ""}}'
        },
        {"package.json": "{" + '"a":[' * 100_000, "Makefile": "\x00\xff:", "justfile": "test\x00:"},
        {"pyproject.toml/x": "", "package.json/x": "", "Makefile/x": "", "tests/test_\ud7ff.py": ""},
    ],
)
def test_odd_content_does_no_harm(tmp_path: Path, files: dict[str, str]) -> None:
    commands(repository(tmp_path, files))


def test_secrets_are_never_copied(tmp_path: Path) -> None:
    secret = "S3cr3t-abc-123456"
    repository(
        tmp_path,
        {
            ".env": f"TOKEN={secret}",
            "package.json": package(test=f"TOKEN={secret} jest", deploy=f"x {secret}"),
            "Makefile": f"TOKEN = {secret}\n# {secret}\ntest: # {secret}\n\tTOKEN={secret} x\n",
            "justfile": f"token := '{secret}'\n# {secret}\ntest token='{secret}':\n  x {secret}\n",
            "pyproject.toml": f"[tool.pytest.ini_options]\nenv = '{secret}'",
            "compose.yaml": f"x: {secret}",
            "composer.json": json.dumps({"scripts": {"test": secret}}),
            "deno.json": json.dumps({"tasks": {"test": secret}}),
        },
    )
    assert secret not in render_toml(detect(tmp_path))


def test_a_file_is_not_overwritten_without_force(tmp_path: Path) -> None:
    file = write_file(tmp_path, [])
    file.write_text("# mine")
    with pytest.raises(FileExistsError):
        write_file(tmp_path, [])
    assert file.read_text() == "# mine"
    assert write_file(tmp_path, [], force=True) == tmp_path / FILE_NAME
    assert load(tmp_path).tools == ()
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_the_reference_at_the_end_is_right() -> None:
    """With the marks removed, the part "what else a tool can say" is a working file."""
    text = render_toml([]).partition("# What else a tool can say:\n#\n")[2]
    (tool,) = parse(
        "\n".join(line.removeprefix("# ") for line in text.splitlines() if line != "#"), file=Path("/r/x")
    ).tools
    assert render(tool["profile"], {"files": ["-a"]}) == ("./check", "--part=api", "--", "-a")


def test_a_huge_repository_gives_a_short_file(tmp_path: Path) -> None:
    repository(tmp_path, {f"p{number}/go.mod": "" for number in range(40)})
    found = detect(tmp_path)
    assert len(found) == SUGGESTIONS_MAX
    assert "There may be more" in render_toml(found)
    assert len(parse(render_toml(found), file=tmp_path / FILE_NAME).tools) == SUGGESTIONS_MAX


odd_names = st.text(st.characters(exclude_characters="/\x00", exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(st.lists(odd_names, min_size=1, max_size=5), st.text())
def test_any_folder_name_and_any_text_can_be_written(folders: list[str], text: str) -> None:
    suggestions: list[Any] = [
        Suggestion(
            name=f"t{number}",
            kind="k",
            description=text or "d",
            command=("x", text.replace("{", "").replace("}", "").replace("\x00", "")),
            why=text,
            choices=(text,),
            folder=name,
        )
        for number, name in enumerate(folders)
    ]
    clean = "\x00" not in text and bool(text.strip())
    if clean:
        tools = parse(render_toml(suggestions), file=Path("/r/ringback.toml")).tools
        assert [tool["profile"]["cwd"] for tool in tools] == [str(Path("/r") / name) for name in folders]


@given(st.lists(odd_names, min_size=1, max_size=3))
def test_names_are_valid_and_unique(parts: list[str]) -> None:
    from ringback.toolfile.detection.suggestion import tool_name

    assert NAME.fullmatch(tool_name("/".join(parts) + "_test"))
