"""Ruby and PHP."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ringback.toolfile.detection.folder import Folder, table
from ringback.toolfile.detection.javascript import USEFUL, other_names
from ringback.toolfile.detection.suggestion import Suggestion, optional, tool_name


def detect_ruby(folder: Folder) -> Iterator[Suggestion]:
    prefix = ("bundle", "exec") if folder.has("Gemfile") else ()
    through = "Gemfile is here, so it runs through bundler" if prefix else "there is no Gemfile"
    has_spec = folder.has(".rspec") or (folder.has("spec") and folder.has("Gemfile", "Rakefile"))
    if has_spec:
        yield Suggestion(
            name="test",
            kind="rspec",
            description="Run the Ruby specs.",
            command=(*prefix, "rspec", "--no-color", "{path}"),
            why=f"found specs; {through}",
            inputs={"path": optional("file, folder, or file:line")},
        )
    rakefile = folder.first("Rakefile", "rakefile", "Rakefile.rb")
    if rakefile and not has_spec:
        has_test = re.search(r"\b(test|TestTask)\b", folder.text(rakefile)) is not None
        yield Suggestion(
            name="test" if has_test else "rake",
            kind="rake",
            description="Run the Rake task 'test'." if has_test else "Run the default Rake task.",
            command=(*prefix, "rake", *(("test",) if has_test else ())),
            why=f"there is a {rakefile}; {through}",
        )


def detect_php(folder: Folder) -> Iterator[Suggestion]:
    scripts = table(folder.json("composer.json"), "scripts")
    useful = [name for name in scripts if USEFUL.fullmatch(name)]
    for name in useful:
        yield Suggestion(
            name=tool_name(name),
            kind="composer",
            description=f"Run the Composer script {name!r}.",
            command=("composer", "run-script", "--no-interaction", name),
            why=f"composer.json has a script {name!r}",
            choices=other_names(scripts, useful),
        )
    config = folder.first("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")
    if config and "test" not in useful:
        yield Suggestion(
            name="test",
            kind="phpunit",
            description="Run the PHP tests.",
            command=("vendor/bin/phpunit", "--colors=never", "--log-junit=junit.xml", "{path}"),
            why=f"there is a {config}",
            choices=("junit.xml is written into this folder: add it to .gitignore",),
            inputs={"path": optional("file or folder")},
            summary="junit:junit.xml",
        )
