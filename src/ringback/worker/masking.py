"""Secret values never leave the worker: every occurrence becomes `***`, also when a write or a read cuts it in two.

What is looked for: each secret as it is; each line of a secret with several lines; and what they look like inside JSON,
inside a URL and in base64 at any alignment. The search is for bytes, because output is bytes.

How a stream is cut: everything is passed on but the shortest tail that could still grow into a secret. Such a tail waits
for more bytes or for the end of the stream, whatever time that takes, and is never longer than the longest form of a
secret. Overlapping occurrences are masked as one, so nothing of either shows.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

MASK: Final = b"***"
LINE_CHARACTERS_MIN: Final = 4
DISGUISED_BYTES_MIN: Final = 6

Span = tuple[int, int]


class Mask:
    """The secrets of one attempt, ready for searching."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Prepare all forms of the given values; empty ones are left out."""
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        self.needles: Final = tuple(sorted(forms, key=len, reverse=True))

    def __bool__(self) -> bool:
        """Whether there is anything to hide."""
        return bool(self.needles)

    def text(self, value: str) -> str:
        """The text with every secret masked."""
        if not self.needles:
            return value
        return self.data(value.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")

    def value(self, value: Any) -> Any:
        """JSON with every secret masked in its texts and names."""

        if not self.needles:
            return value
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {self.text(name): self.value(item) for name, item in value.items()}
            case _:
                return value

    def data(self, value: bytes) -> bytes:
        """The bytes with every secret masked; for a whole, not for a part of a stream."""
        stream = MaskedStream(self)
        return stream.feed(value) + stream.finish()

    def spans(self, data: bytes) -> list[Span]:
        """Where secrets stand, as disjoint ranges in ascending order."""
        found = sorted(span for needle in self.needles for span in _occurrences(needle, data))
        merged: list[Span] = []
        for start, end in found:
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged

    def undecided(self, data: bytes) -> int:
        """Where the tail begins that could be the beginning of a secret; the length of `data` when there is none."""
        earliest = len(data)
        for needle in self.needles:
            first = needle[:1]
            at = data.find(first, max(0, len(data) - len(needle) + 1), earliest)
            while at >= 0 and not needle.startswith(data[at:]):
                at = data.find(first, at + 1, earliest)
            if at >= 0:
                earliest = at
        return earliest


class MaskedStream:
    """One stream of bytes on its way through a mask."""

    def __init__(self, mask: Mask) -> None:
        """Nothing was fed yet."""
        self._mask = mask
        self._held = b""
        self._covered = 0  # so many of the held bytes belong to a secret whose mask was passed on already

    def feed(self, data: bytes) -> bytes:
        """What may be passed on after these bytes came."""
        if not self._mask:
            return data
        data = self._held + data
        return self._pass_on(data, self._mask.undecided(data))

    def finish(self) -> bytes:
        """The rest, at the end of the stream."""
        return self._pass_on(self._held, len(self._held))

    def _pass_on(self, data: bytes, until: int) -> bytes:
        spans = self._mask.spans(data)
        at = self._covered
        if not spans and not at:
            self._held = data[until:]
            return data[:until]
        passed: list[bytes] = []
        for start, end in spans:
            if start >= until:
                break
            if start < at:
                at = max(at, end)  # goes on where a mask was already written
            else:
                passed += [data[at:start], MASK]
                at = end
        passed.append(data[at:until])
        self._covered = max(0, at - until)
        self._held = data[until:]
        return b"".join(passed)


def _occurrences(needle: bytes, data: bytes) -> Iterator[Span]:
    at = data.find(needle)
    while at >= 0:
        yield at, at + len(needle)
        at = data.find(needle, at + 1)


def _forms(secret: str) -> Iterator[bytes]:
    lines = [line.strip() for line in secret.splitlines()]
    parts = {secret, secret.strip(), *(line for line in lines if len(line) >= LINE_CHARACTERS_MIN)} - {""}
    for part in parts:
        raw = part.encode("utf-8", "surrogateescape")
        yield raw
        if len(raw) >= DISGUISED_BYTES_MIN:
            yield from _disguises(part, raw)


def _disguises(part: str, raw: bytes) -> Iterator[bytes]:
    printable = raw.decode("utf-8", "replace")
    yield json.dumps(printable)[1:-1].encode()
    yield json.dumps(printable, ensure_ascii=False)[1:-1].encode()
    yield quote(raw, safe="").encode()
    yield quote(raw).encode()
    if "\n" in part:
        yield raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for shift in range(3):
            # The characters at the borders also depend on the neighbours; what is left depends on the secret alone.
            encoded = encode(b"\0" * shift + raw).rstrip(b"=")
            first = (0, 2, 3)[shift]
            last = len(encoded) - (1 if (shift + len(raw)) % 3 else 0)
            yield encoded[first:last]
