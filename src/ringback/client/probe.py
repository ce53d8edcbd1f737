"""One question to a server on this machine, with a bare socket: a process that stays should not carry an HTTP client for it."""

import socket
from urllib.parse import urlsplit

ANSWER_WITHIN_S = 2.0
ANSWER_BYTES_MAX = 64 * 1024


def probe(url: str, path: str) -> int | None:
    """The status of a GET without a token, or None without an answer. Plain http only."""
    found = answer(url, path)
    return None if found is None else found[0]


def answer(url: str, path: str) -> tuple[int, bytes] | None:
    """Status and body; see `probe`."""
    parts = urlsplit(url)
    request = f"GET {parts.path.rstrip('/')}{path} HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n"
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=ANSWER_WITHIN_S) as connection:
            connection.sendall(request.encode("ascii"))
            whole = _everything(connection)
    except OSError:
        return None
    head, _, body = whole.partition(b"\r\n\r\n")
    words = head.split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        return None
    return int(words[1]), body


def _everything(connection: socket.socket) -> bytes:
    whole = b""
    while len(whole) < ANSWER_BYTES_MAX and (piece := connection.recv(ANSWER_BYTES_MAX)):
        whole += piece
    return whole
