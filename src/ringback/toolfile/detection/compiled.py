"""Cargo, Go, Maven, Gradle, .NET and Bazel."""

from __future__ import annotations

from collections.abc import Iterator

from ringback.toolfile.detection.folder import Folder
from ringback.toolfile.detection.suggestion import Suggestion, optional


def detect_cargo(folder: Folder) -> Iterator[Suggestion]:
    if not folder.has("Cargo.toml") or _is_below(folder, "Cargo.toml", containing="workspace"):
        return
    everything = ("--workspace",) if "workspace" in folder.toml("Cargo.toml") else ()
    why = "there is a Cargo.toml" + (" of a workspace" if everything else "")
    yield Suggestion(
        name="test",
        kind="cargo",
        description="Compile and run the Rust tests.",
        command=("cargo", "test", *everything, "{filter}"),
        why=why,
        choices=('add "--no-fail-fast" to see all failures, not only those of the first crate that has any',),
        inputs={"filter": optional("only tests whose names contain this")},
        summary="cargo",
    )
    yield Suggestion(
        name="build",
        kind="cargo",
        description="Compile the Rust code.",
        command=("cargo", "build", *everything),
        why=why,
        choices=('add "--release" for an optimised build',),
        summary="exit",
    )
    yield Suggestion(
        name="lint",
        kind="cargo",
        description="Check the Rust code with clippy.",
        command=("cargo", "clippy", *everything, "--all-targets"),
        why=why,
        choices=('add "--", "-D", "warnings" to fail on warnings',),
        summary="exit",
    )


def detect_go(folder: Folder) -> Iterator[Suggestion]:
    if not folder.has("go.mod"):
        return
    package = {"package": {"type": "string", "default": "./...", "description": "package pattern, such as ./store/..."}}
    for name, verb, what in (
        ("test", "test", "Run the Go tests."),
        ("lint", "vet", "Check the Go code with vet."),
        ("build", "build", "Compile the Go code."),
    ):
        yield Suggestion(
            name=name,
            kind="go",
            description=what,
            command=("go", verb, "{package}"),
            why="there is a go.mod",
            choices=('add "-race" to look for data races',) if name == "test" else (),
            inputs=package,
            summary="go" if name == "test" else "exit",
        )


def detect_jvm(folder: Folder) -> Iterator[Suggestion]:
    if folder.has("pom.xml") and not _is_below(folder, "pom.xml"):
        program = "./mvnw" if folder.has("mvnw") else "mvn"
        yield _jvm("maven", (program, "-B", "-ntp"), "test", "verify", "target/surefire-reports/*.xml")
        yield _jvm("maven", (program, "-B", "-ntp", "-DskipTests"), "package", "package", "")
    build = folder.first("build.gradle", "build.gradle.kts")
    if build and not _is_below(folder, "settings.gradle", "settings.gradle.kts"):
        program = "./gradlew" if folder.has("gradlew") else "gradle"
        yield _jvm("gradle", (program, "--console=plain"), "test", "check", "build/test-results/test/*.xml")
        yield _jvm("gradle", (program, "--console=plain"), "assemble", "assemble", "")


def _jvm(kind: str, program: tuple[str, ...], goal: str, more: str, reports: str) -> Suggestion:
    is_test = goal == "test"
    file = {"maven": "pom.xml", "gradle": "build file of Gradle"}[kind]
    return Suggestion(
        name="test" if is_test else "build",
        kind=kind,
        description="Run the tests." if is_test else "Build without running the tests.",
        command=(*program, goal),
        why=f"there is a {file}",
        choices=(f"the goal {more!r} does more",) if more != goal else (),
        summary=f"junit:{reports}" if is_test else "exit",
    )


def detect_dotnet(folder: Folder) -> Iterator[Suggestion]:
    projects = folder.ending(".sln", ".slnx") or folder.ending(".csproj", ".fsproj", ".vbproj")
    above = (".sln", ".slnx", ".csproj", ".fsproj", ".vbproj")
    if not projects or any(parent.ending(*above) for parent in folder.parents()):
        return
    for name in ("test", "build"):
        yield Suggestion(
            name=name,
            kind="dotnet",
            description="Run the .NET tests." if name == "test" else "Compile the .NET code.",
            command=("dotnet", name, "--nologo"),
            why="there is a .NET project or solution",
            summary="auto" if name == "test" else "exit",
        )


def detect_bazel(folder: Folder) -> Iterator[Suggestion]:
    file = folder.first("MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel")
    if file is None or not folder.is_root:
        return
    for name in ("test", "build"):
        yield Suggestion(
            name=name,
            kind="bazel",
            description=f"{name.capitalize()} Bazel targets.",
            command=("bazel", name, "--color=no", "--curses=no", "--", "{target}"),
            why=f"there is a {file}",
            inputs={"target": {"type": "string", "default": "//...", "description": "target pattern"}},
            summary="exit",
        )


def _is_below(folder: Folder, *files: str, containing: str = "") -> bool:
    """Whether a folder above has such a file, and so takes care of this one too."""
    return any(containing in parent.text(file) for parent in folder.parents() for file in files if parent.has(file))
