"""What the setting accepts, and which rule a refusal names."""

from __future__ import annotations

import pytest

from ringback.summaries import Format, Spec, parse_spec, summarize, wanted_files


@pytest.mark.parametrize("name", [item.value for item in Format if item not in {Format.JUNIT, Format.REGEX}])
def test_named(name: str) -> None:
    assert parse_spec(name) == Spec(format=Format(name))
    assert parse_spec(name).as_json() == name


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        (None, "auto"),
        ("junit:out/report.xml", "junit:out/report.xml"),
        ({"junit": "./out/TEST-*.xml"}, "junit:out/TEST-*.xml"),
        ({"regex": r"(?P<passed>\d+) ok"}, {"regex": r"(?P<passed>\d+) ok"}),
        (
            {"regex": r"(?P<n>\d+) ok", "template": "{n} fine"},
            {"regex": r"(?P<n>\d+) ok", "template": "{n} fine"},
        ),
    ],
)
def test_canonical_form(value: object, canonical: object) -> None:
    spec = parse_spec(value)
    assert spec.as_json() == canonical
    assert parse_spec(spec.as_json()) == spec


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (3, "must be text or an object, not int"),
        ("mocha", "'mocha' is unknown; known are auto, pytest"),
        ("junit", "needs more"),
        ("regex", "needs more"),
        ("junit:", "1 to 500 printable"),
        ("junit:" + "a" * 501, "1 to 500 printable"),
        ("junit:a\nb", "printable"),
        ("junit:/etc/passwd", "must be relative"),
        ("junit:a/../../b", r"without '\.\.'"),
        ("junit:C:\\x", "must be relative"),
        ({}, "summary object must be"),
        ({"junit": 3}, "summary object must be"),
        ({"regex": "x", "flags": "i"}, "summary object must be"),
        ({"junit": "x", "template": "i"}, "summary object must be"),
        ({"regex": "(", "template": "x"}, "does not compile"),
        ({"regex": "[[a]"}, "does not compile"),
        ({"regex": ""}, "1 to 500"),
        ({"regex": "x" * 501}, "1 to 500"),
        ({"regex": "(?P<n>x)", "template": " "}, "template must be 1 to 300"),
        ({"regex": "(?P<n>x)", "template": "{"}, "template is malformed"),
        ({"regex": "(?P<n>x)", "template": "{m}"}, "must be a plain named group"),
        ({"regex": "(?P<n>x)", "template": "{n!r}"}, "must be a plain named group"),
        ({"regex": "(?P<n>x)", "template": "{n:>9}"}, "must be a plain named group"),
        ({"regex": "(?P<n>x)", "template": "{n.real}"}, "must be a plain named group"),
    ],
)
def test_refusals(value: object, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        parse_spec(value)


def test_wanted_files() -> None:
    assert wanted_files(parse_spec("junit:out/report.xml")) == ("out/report.xml",)
    assert "junit.xml" in wanted_files(parse_spec("auto"))
    assert wanted_files(parse_spec("pytest")) == ()


def test_a_broken_setting_never_harms_a_run() -> None:
    assert summarize("mocha", output="= 3 passed in 0.10s =", exit_code=0, files={}).text == "3 passed"


def test_a_checked_setting_is_taken_as_it_is() -> None:
    assert summarize(parse_spec("exit"), output="3 passed in 0.10s", exit_code=0, files={}).text.startswith("exit code")
    assert summarize(Spec(format=Format.REGEX), output="x", exit_code=None, files={}).text == "x"
