"""A page of the manual as a reader types it: its shell blocks, one after the other, in one shell; and what it shows of them."""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WITHIN_S = 100.0
BETWEEN = "-- the next block --"
# What differs from time to time, and the word that stands for it.
DIFFERS = (
    (re.compile(r"job_[0-9a-v]{26}"), "JOB"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "MOMENT"),
    (re.compile(r"\d+\.\d+ ?m?s\b"), "DURATION"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "URL"),
    (re.compile(r"\(pid \d+\)"), "(PID)"),
    (re.compile(r'(etag: )"?[^"\n]+"?', re.IGNORECASE), r"\1ETAG"),
    (re.compile(r'("next_cursor":)"[^"]+"'), r"\1CURSOR"),
    (re.compile(r"(content-length: )\d+"), r"\1NUMBER"),
)
_BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """Shell code, and the output that the page shows below it; None where it shows none."""

    code: str
    shown: str | None


def blocks_of(page: str) -> list[Block]:
    return [Block(match[1], match[2]) for match in _BLOCK.finditer(page)]


def typed(blocks: list[Block], folder: Path, env: Mapping[str, str]) -> list[str]:
    """What each block prints, on both streams. Fails when the shell does."""
    script = f"\necho '{BETWEEN}'\n".join(block.code for block in blocks)
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail"],
        input=f"exec 2>&1\n{script}",
        cwd=folder,
        env=dict(env),
        stdout=subprocess.PIPE,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return [f"{text.strip()}\n" for text in re.split(rf"{BETWEEN}\n", done.stdout)]


def shape(text: str) -> str:
    """The text without what differs from time to time."""
    for pattern, word in DIFFERS:
        text = pattern.sub(word, text)
    return text


def documents(text: str) -> list[dict[str, Any]]:
    """The JSON objects in an output, in order; each begins a line."""
    found, at = [], 0
    decoder = json.JSONDecoder()
    for match in re.finditer(r"^\{", text, re.MULTILINE):
        if match.start() >= at:
            value, at = decoder.raw_decode(text, match.start())
            found.append(value)
    return found
