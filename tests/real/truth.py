"""What the suites really have to say, found without Ringback: from the runners' own reports and their own counting."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests.real.cache import carry_out
from tests.real.packages import searched_path

# Discovery as `python -m unittest` does it, without running anything.
COUNT = "import unittest; print(unittest.defaultTestLoader.discover('.').countTestCases())"


def pytest_report(repository: Path, report: Path) -> dict[str, int]:
    """Counts of a whole run, from the JUnit report that pytest writes; only those that are not zero."""
    carry_out((".venv/bin/python", "-m", "pytest", "-q", f"--junitxml={report}"), repository)
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    failed, errors, skipped = (int(suite.attrib[name]) for name in ("failures", "errors", "skipped"))
    passed = int(suite.attrib["tests"]) - failed - errors - skipped
    counts = {"passed": passed, "failed": failed, "errors": errors, "skipped": skipped}
    return {word: number for word, number in counts.items() if number}


def unittest_count(repository: Path) -> int:
    """How many tests unittest's own loader finds."""
    return int(carry_out((sys.executable, "-c", COUNT), repository))


def tap_counts(repository: Path) -> dict[str, int]:
    """What tape says at the end of a whole run."""
    said = carry_out(("npm", "run", "--silent", "test:unit"), repository, {"PATH": searched_path()})
    found = dict(re.findall(r"^# (tests|pass|fail) +(\d+)$", said, re.MULTILINE))
    assert found["tests"] == found["pass"]
    return {"passed": int(found["pass"])}
