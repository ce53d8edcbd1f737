"""Terminal output as a person would read it."""

from __future__ import annotations

import time

import pytest

from ringback.summaries import clean_text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param(b"plain\n\ttext\n", "plain\n\ttext\n", id="plain"),
        pytest.param(b"\x1b[1;31mred\x1b[0m", "red", id="colour"),
        pytest.param(b"\x1b[38;2;1;2;3mrgb\x1b[K", "rgb", id="true colour and erase"),
        pytest.param(b"\x1b]0;title\x07text", "text", id="title ended by BEL"),
        pytest.param(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", id="hyperlink ended by ST"),
        pytest.param(b"\x1b]0;never ended\nnext", "\nnext", id="an unfinished title hides its own line only"),
        pytest.param(b"\x1bPq#0\x1b\\after\x1b_x\x1b\\", "after", id="DCS and APC"),
        pytest.param(b"\x1b(B\x1b=\x1b7x", "x", id="short escapes"),
        pytest.param(b"\x1b[12", "", id="unfinished CSI"),
        pytest.param(b"\x1b\x1b[31mx\x1b", "x", id="lone escapes"),
        pytest.param("\x9b31mx\x9d0;t\x9cy", "xy", id="8-bit controls"),
        pytest.param("déjà \x85vu", "déjà vu", id="C1 among letters"),
        pytest.param(b"a\x00b\x08c\x7fd\x0c", "abcd", id="other controls"),
        pytest.param(b"one\r\ntwo\r\n", "one\ntwo\n", id="CRLF"),
        pytest.param(b"10%\r20%\r30%\n", "30%\n", id="updates"),
        pytest.param(b"10%\r20%\r\r\n", "20%\n", id="closing returns draw nothing"),
        pytest.param(b"10%\r20%\r", "20%", id="the last update was not closed"),
        pytest.param(b"\r\x1b[K10%\r\x1b[Kdone\nnext\n", "done\nnext\n", id="updates with erase"),
        pytest.param(b"\xff\xc3\n", "\ufffd\ufffd\n", id="undecodable"),
        pytest.param("a\ud800b", "a\ufffdb", id="lone surrogate"),
        pytest.param("", "", id="empty"),
    ],
)
def test_clean_text(raw: bytes | str, text: str) -> None:
    assert clean_text(raw) == text
    assert clean_text(text) == text


def test_ten_thousand_updates_are_one_line() -> None:
    assert clean_text(b"start\n" + b"\r\x1b[32m 42%|###" * 10_000 + b"\nend") == "start\n 42%|###\nend"


@pytest.mark.parametrize(
    "unit", [b"\x1b[", b"\x1b]", b"\x1b[0;", b"\r", b"\x1b[32mx\r", b"\x1b", b"\x9b\xc2", b"\x1bP"]
)
def test_cost_is_linear(unit: bytes) -> None:
    """Two megabytes of anything hostile take well under the seconds that a square would need."""
    start = time.perf_counter()
    clean_text(unit * (1_000_000 // len(unit)) + b"1" * 1_000_000)
    assert time.perf_counter() - start < 5
