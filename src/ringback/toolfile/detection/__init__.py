"""Which tools a repository seems to offer: the first draft of its `ringback.toml`.

Detection only looks at files; it runs nothing, follows no links out of the repository, and copies names, never contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from ringback.toolfile.detection.compiled import (
    detect_bazel,
    detect_cargo,
    detect_dotnet,
    detect_go,
    detect_jvm,
)
from ringback.toolfile.detection.folder import Folder, folders
from ringback.toolfile.detection.javascript import detect_deno, detect_package
from ringback.toolfile.detection.python import detect_python
from ringback.toolfile.detection.runners import detect_compose, detect_just, detect_make, detect_pre_commit
from ringback.toolfile.detection.scripted import detect_php, detect_ruby
from ringback.toolfile.detection.suggestion import Suggestion, tool_name

__all__ = ["SUGGESTIONS_MAX", "Suggestion", "detect"]

Detector: TypeAlias = Callable[[Folder], Iterator[Suggestion]]

SUGGESTIONS_MAX: Final = 60
_NAME_MAX: Final = 64
# The order decides who gets the plain name `test` when several would like it: a task runner that the owners wrote
# themselves knows best how their tests are run.
_DETECTORS: Final[tuple[Detector, ...]] = (
    detect_just,
    detect_make,
    detect_package,
    detect_deno,
    detect_python,
    detect_cargo,
    detect_go,
    detect_jvm,
    detect_dotnet,
    detect_ruby,
    detect_php,
    detect_bazel,
    detect_pre_commit,
    detect_compose,
)


def detect(folder: str | Path) -> list[Suggestion]:
    """Suggested tools with unique names: the repository's own first, then those of its inner projects, at most 60."""
    out: list[Suggestion] = []
    names: set[str] = set()
    for place in folders(Path(folder).absolute()):
        for detector in _DETECTORS:
            for found in detector(place):
                suggestion = _placed(found, place.relative, names)
                names.add(suggestion.name)
                out.append(suggestion)
                if len(out) == SUGGESTIONS_MAX:
                    return out
    return out


def _placed(found: Suggestion, relative: str, taken: set[str]) -> Suggestion:
    plain = found.name if relative == "." else tool_name(f"{relative}_{found.name}")
    candidates = [plain, tool_name(f"{plain[: _NAME_MAX - 12]}_{found.kind}")]
    candidates += [f"{candidates[1][: _NAME_MAX - 4]}_{number}" for number in range(2, SUGGESTIONS_MAX + 3)]
    name = next(name for name in candidates if name not in taken)
    return replace(found, name=name, folder=relative)
