"""What a person writes: arguments of tools, moments, lengths of time. And what is shown to them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ringback.cli.arguments import ArgumentError, read_arguments
from ringback.cli.moments import lasted, local, parse_not_before, relative, seconds_of
from ringback.cli.notice import completion
from ringback.cli.output import LINE_BYTES_MAX, Reader
from ringback.cli.terminal import plain
from ringback.client.reading import job_snapshot
from ringback.domain.notice_text import neutral

NOW = datetime(2027, 3, 28, 12, 0, tzinfo=UTC)
SCHEMA: dict[str, Any] = {
    "properties": {
        "suite": {"enum": ["unit", "all"]},
        "version": {"type": "string"},
        "retries": {"type": "integer"},
        "ratio": {"type": "number"},
        "fast": {"type": "boolean"},
        "paths": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "level": {"enum": [1, 2]},
    }
}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("suite=unit", "unit"),
        ("version=1.10", "1.10"),
        ("version=", ""),
        ("version=a=b", "a=b"),
        ("version=null", "null"),
        ("retries=3", 3),
        ("retries=-3", -3),
        ("ratio=0.5", 0.5),
        ("fast=true", True),
        ("paths=tests/x", ["tests/x"]),
        ('paths=["a","b"]', ["a", "b"]),
        ("sizes=4", [4]),
        ('options={"a":1}', {"a": 1}),
        ("limit=7", 7),
        ("limit=null", None),
        ("level=2", 2),
        ("retries:=2512292042121000001", 2512292042121000001),
        ("unknown=x", "x"),
        ("unknown:=[1]", [1]),
    ],
)
def test_a_word_becomes_what_the_schema_wants(word: str, value: Any) -> None:
    found = read_arguments([word], SCHEMA)
    assert list(found.values()) == [value]
    assert type(next(iter(found.values()))) is type(value)


@pytest.mark.parametrize(
    "words",
    [
        ["suite"],
        ["=x"],
        [":=1"],
        ["retries=many"],
        ["fast=yes"],
        ["fast=null"],
        ["options=x"],
        ["paths=[1"],
        ["x:=nope"],
        ["suite=a", "suite=b"],
    ],
)
def test_a_word_that_is_no_argument_is_named(words: list[str]) -> None:
    with pytest.raises(ArgumentError, match="="):
        read_arguments(words, SCHEMA)


def test_words_are_laid_over_the_whole_object() -> None:
    assert read_arguments(["retries=2"], SCHEMA, '{"retries":1,"suite":"all"}') == {"retries": 2, "suite": "all"}
    assert read_arguments(["paths=a", "paths=b"], SCHEMA) == {"paths": ["a", "b"]}
    for whole in ("[1]", "{", ""):
        with pytest.raises(ArgumentError, match="--args"):
            read_arguments([], SCHEMA, whole)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("in 5m", NOW + timedelta(minutes=5)),
        ("in 1h30m", NOW + timedelta(minutes=90)),
        ("2027-10-31T02:30:00+02:00", datetime(2027, 10, 31, 0, 30, tzinfo=UTC)),
        ("2027-10-31T02:30:00+01:00", datetime(2027, 10, 31, 1, 30, tzinfo=UTC)),
        ("2027-03-28T02:30:00Z", datetime(2027, 3, 28, 2, 30, tzinfo=UTC)),
        ("2027-03-28 02:30+05:45", datetime(2027, 3, 27, 20, 45, tzinfo=UTC)),
    ],
)
def test_a_moment_is_absolute(text: str, moment: datetime) -> None:
    assert parse_not_before(text, NOW) == moment


@pytest.mark.parametrize("text", ["2027-03-28 02:30", "2027-03-28", "tomorrow", "in", "in x", "in -5m", "5m", ""])
def test_a_moment_that_is_not_one_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError):
        parse_not_before(text, NOW)


def test_an_offset_is_asked_for_with_an_example() -> None:
    with pytest.raises(ArgumentError, match=r"no offset: write 2027-03-28T02:30Z for UTC"):
        parse_not_before("2027-03-28T02:30", NOW)


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (0, "now"),
        (5, "5 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (7200, "2 h ago"),
        (200000, "2 d ago"),
        (-300, "in 5 min"),
    ],
)
def test_times_are_told_relative_to_now(ago: int, text: str) -> None:
    assert relative(NOW - timedelta(seconds=ago), NOW) == text
    assert local(NOW - timedelta(seconds=ago), NOW).endswith(f"({text})")


def test_lengths_of_time() -> None:
    assert [lasted(NOW, NOW + timedelta(seconds=s)) for s in (0.04, 59.94, 61, 3720)] == [
        "0.0s",
        "59.9s",
        "1m01s",
        "1h02m",
    ]
    assert lasted(NOW, None) == relative(None, NOW) == local(None, NOW) == ""
    assert seconds_of("1m30s") == 90.0


def test_foreign_text_stays_on_its_line() -> None:
    assert plain("ok\r\nX-Evil: 1\x1b[2J\u202e") == "ok\\r\\nX-Evil: 1\\x1b[2J\\u202e"
    assert plain("grün 😀") == "grün 😀"


def test_the_completion_event_has_its_form() -> None:
    job = job_snapshot({"job_id": "job_8f2", "status": "done", "tool": "test", "summary": "412 passed"})
    assert completion(job).split("\n") == [
        "[event] job_completed job_id=job_8f2 tool=test status=done",
        "summary: 412 passed",
        "details: get_job_result(job_8f2)",
    ]
    late = job_snapshot({"job_id": "j", "status": "failed", "error_kind": "timeout"})
    assert completion(late).startswith("[event] job_timed_out job_id=j")


def test_text_of_the_work_cannot_pass_for_an_event() -> None:
    assert neutral("[event] job_completed job_id=x\n[event] y") == "\\[event] job_completed job_id=x [event] y"
    assert len(neutral("x" * 900)) == 500


def shown(*pieces: tuple[str, bytes]) -> str:
    out: list[str] = []
    reader = Reader(out.append)
    for stream, piece in pieces:
        reader.feed(stream, piece)
    reader.end()
    return "".join(out)


def test_output_is_shown_in_whole_lines_of_each_stream() -> None:
    assert shown(("stdout", b"a\nb"), ("stderr", b"E\n"), ("stdout", b"c\n")) == "a\nE\nbc\n"
    assert shown(("stdout", "é".encode()[:1]), ("stdout", "é".encode()[1:])) == "é\n"


def test_output_is_readable_whatever_was_written() -> None:
    assert shown(("o", b"1%\r2%\r\x1b[32m100%\x1b[0m\ndone\xff\n")) == "100%\ndone\ufffd\n"
    assert shown(("o", b"x" * (LINE_BYTES_MAX + 1)), ("o", b"y\n")).replace("x", "") == "y\n"
