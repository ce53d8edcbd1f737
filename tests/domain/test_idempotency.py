"""Idempotency: what a key may be, where it is looked up, and what a second use means."""

from __future__ import annotations

import pytest

from ringback.domain.errors import IdempotencyConflictError, IdempotencyKeyError
from ringback.domain.idempotency import (
    KEPT_AFTER_END,
    KEY_MAX,
    KeyRecord,
    KeyRef,
    check_key,
    one_key,
    replayed,
    unquote,
)
from ringback.domain.moments import HOUR
from tests.builders import NOON, PROJECT, run_id

RECORD = KeyRecord(ref=KeyRef(PROJECT, "owner", "k"), fingerprint="f1", run_id=run_id(), created_at=NOON)


@pytest.mark.parametrize("key", ["k", "K", "!", "~", '"', "\\", "a" * KEY_MAX, "0b9e-4f", "a/b:c"])
def test_keys_are_taken_exactly_as_given(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize(
    "key",
    ["", "a" * (KEY_MAX + 1), "a" * 100_000, "k\n", " k", "k ", "a b", "k\t", "k\0", "é", "😀", "\x7f", "\u00a0"],
)
def test_other_keys_are_refused(key: str) -> None:
    with pytest.raises(IdempotencyKeyError):
        check_key(key)


def test_the_longest_key_and_the_time_it_is_kept() -> None:
    assert (KEY_MAX, KEPT_AFTER_END) == (255, 24 * HOUR)


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ("k", "k"),
        ('"k"', "k"),
        ('"a\\"b"', 'a"b'),
        ('"a\\\\b"', "a\\b"),
        ('"a\\\\\\"b"', 'a\\"b'),
        ('""', ""),
        ('"', '"'),
        ('"k', '"k'),
        ('k"', 'k"'),
        ('a"b"c', 'a"b"c'),
        (" k ", " k "),
    ],
)
def test_a_header_is_bare_or_quoted(header: str, key: str) -> None:
    assert unquote(header) == key


@pytest.mark.parametrize(
    ("header", "body", "key"),
    [(None, None, None), ("k", None, "k"), (None, "k", "k"), ("k", "k", "k")],
)
def test_one_key(header: str | None, body: str | None, key: str | None) -> None:
    assert one_key(header, body) == key


@pytest.mark.parametrize(
    ("header", "body"), [("k", "K"), ("k", ""), ("", "k"), ("", None), (None, ""), ("", ""), ("k", "k "), (None, "a b")]
)
def test_no_key_is_guessed(header: str | None, body: str | None) -> None:
    with pytest.raises(IdempotencyKeyError):
        one_key(header, body)


def test_the_same_payload_gets_the_first_run() -> None:
    assert replayed(RECORD, "f1") == run_id()


def test_another_payload_is_refused_naming_the_run() -> None:
    with pytest.raises(IdempotencyConflictError) as caught:
        replayed(RECORD, "f2")
    assert caught.value.run_id == run_id()


def test_a_key_belongs_to_project_and_owner() -> None:
    refs = {KeyRef(PROJECT, "owner", "k"), KeyRef(PROJECT, "other", "k"), KeyRef(PROJECT, "owner", "K")}
    assert len(refs) == 3
