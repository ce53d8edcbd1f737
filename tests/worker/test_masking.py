"""Secrets are masked wherever they are cut, and nothing else is held back or changed."""

import base64
import json
import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from ringback.worker.masking import Mask, MaskedStream

TOKEN = "S3cr3t-abc-123456"


def masked(mask: Mask, *pieces: bytes) -> bytes:
    stream = MaskedStream(mask)
    return b"".join([*map(stream.feed, pieces), stream.finish()])


def test_a_whole_secret_is_masked() -> None:
    assert masked(Mask([TOKEN]), f"token={TOKEN};".encode()) == b"token=***;"


def test_a_secret_is_masked_wherever_a_write_cuts_it() -> None:
    whole = f"a {TOKEN} b".encode()
    for cut in range(len(whole)):
        assert masked(Mask([TOKEN]), whole[:cut], whole[cut:]) == b"a *** b"


def test_a_secret_that_comes_byte_by_byte_is_masked() -> None:
    whole = f"<{TOKEN}>".encode()
    assert masked(Mask([TOKEN]), *(bytes([byte]) for byte in whole)) == b"<***>"


def test_the_beginning_of_a_secret_is_held_until_it_is_clear() -> None:
    stream = MaskedStream(Mask([TOKEN]))
    assert stream.feed(b"prompt S3cr3t") == b"prompt "
    assert stream.feed(b"ary") == b"S3cr3tary"
    assert stream.feed(b"S3") == b""
    assert stream.finish() == b"S3"


def test_every_line_of_a_secret_with_lines_is_masked() -> None:
    mask = Mask(["first line\n  second line\r\nxy\nlast line"])
    assert masked(mask, b"1 first line, 2 second line, 3 xy, 4 last line") == b"1 ***, 2 ***, 3 xy, 4 ***"


def test_a_secret_with_lines_is_masked_as_a_whole_too() -> None:
    assert masked(Mask(["ab\ncd"]), b"<ab\ncd>") == b"<***>"


@pytest.mark.parametrize("padding", [b"", b"x", b"xy", b"xyz"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_masked_at_every_alignment(padding: bytes, encode: Callable[[bytes], bytes]) -> None:
    secret = "p\u00e4ss?>word~~~"
    shown = masked(Mask([secret]), encode(padding + secret.encode() + padding))
    assert b"***" in shown
    left = shown.replace(b"***", b"").rstrip(b"=")
    assert len(left) * 3 // 4 <= 2 * len(padding) + 2


def test_json_and_url_forms_are_masked() -> None:
    secret = 'quo"te/\u00e9 & more'
    mask = Mask([secret])
    assert masked(mask, json.dumps({"a": secret}).encode()) == b'{"a": "***"}'
    assert masked(mask, json.dumps([secret], ensure_ascii=False).encode()) == b'["***"]'
    assert masked(mask, f"?q={quote(secret)}&r={quote(secret, safe='')}".encode()) == b"?q=***&r=***"


def test_overlapping_secrets_show_nothing_of_either() -> None:
    assert masked(Mask(["abcd", "cdefgh"]), b"-abcd", b"efgh-") == b"-***-"
    assert masked(Mask(["abcd", "cdefgh"]), b"-abcd", b"xx-") == b"-***xx-"
    assert masked(Mask(["aaaa"]), b"aaaaaa", b"aa", b"b") == b"***b"


def test_the_longer_of_two_secrets_with_one_beginning_wins() -> None:
    assert masked(Mask(["abc", "abcdef"]), b"abc", b"def", b"abc") == b"******"


def test_text_is_masked() -> None:
    mask = Mask([TOKEN, ""])
    assert mask.text(f"cannot open {TOKEN}") == "cannot open ***"
    assert mask.text("lone \ud800 surrogate") == "lone \ufffd\ufffd\ufffd surrogate"
    assert Mask().text("lone \ud800") == "lone \ud800"
    assert not Mask([""])


def oracle(mask: Mask, data: bytes) -> bytes:
    """Every byte that belongs to any occurrence is gone; runs of them are one mask."""
    hidden = bytearray(len(data))
    for needle in mask.needles:
        for match in re.finditer(b"(?=" + re.escape(needle) + b")", data):
            hidden[match.start() : match.start() + len(needle)] = b"\1" * len(needle)
    shown = b"".join(b"*" if gone else bytes([byte]) for byte, gone in zip(data, hidden, strict=True))
    return re.sub(rb"\*+", b"*", shown)


@given(
    secrets=st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=4),
    pieces=st.lists(st.text("abcd", max_size=6), max_size=12),
)
def test_however_a_stream_is_cut_the_same_shows(secrets: list[str], pieces: list[str]) -> None:
    mask = Mask(secrets)
    data = [piece.encode() for piece in pieces]
    assert re.sub(rb"\*+", b"*", masked(mask, *data)) == oracle(mask, b"".join(data))


@given(pieces=st.lists(st.binary(max_size=8), max_size=12))
def test_what_is_held_is_shorter_than_the_longest_form(pieces: list[bytes]) -> None:
    mask = Mask(["abcdefgh"])
    stream = MaskedStream(mask)
    fed = passed = 0
    for piece in pieces:
        fed += len(piece)
        passed += len(stream.feed(piece).replace(b"***", b"abcdefgh"))
        assert fed - passed < max(map(len, mask.needles))
