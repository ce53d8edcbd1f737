"""A quick check in the manner of a linter: every module says what it is for, and no line is too long."""

import ast
import sys
from pathlib import Path

LINE_MAX = 120


def findings(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    found = [
        f"{file}:{number}: longer than {LINE_MAX}"
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > LINE_MAX
    ]
    if not ast.get_docstring(ast.parse(text)):
        found.append(f"{file}:1: does not say what it is for")
    return found


def main() -> int:
    files = sorted(Path(sys.argv[1]).rglob("*.py"))
    found = [finding for file in files for finding in findings(file)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(files)} files, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
