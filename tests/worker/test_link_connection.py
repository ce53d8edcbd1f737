"""The lean HTTP client, and what the statuses of answers mean."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from ringback.worker.channel import Channel, NotAllowedError, RefusedError, SessionOverError, UnreachableServerError
from ringback.worker.connection import Address, Connection, UnreachableError
from ringback.worker.lease import Instant, Lease


class Peer:
    """A server that answers each connection with the bytes it was given for it, then closes it or keeps it."""

    def __init__(self, *answers: bytes | None) -> None:
        """None closes the connection without an answer."""
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.connections = 0
        self.port = 0
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer until there is no answer left."""
        self.connections += 1
        self.writers.append(writer)
        with contextlib.suppress(OSError, EOFError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(size))
                answer = self.answers.pop(0) if self.answers else None
                if answer is None:
                    break
                writer.write(answer)
        writer.transport.abort()


@contextlib.asynccontextmanager
async def peer(*answers: bytes | None) -> AsyncIterator[tuple[Peer, Connection]]:
    """A peer, and a connection to it."""
    served = Peer(*answers)
    server = await asyncio.start_server(served.serve, "127.0.0.1")
    served.port = server.sockets[0].getsockname()[1]
    connection = Connection(Address.parse(f"http://127.0.0.1:{served.port}/base/"), "t0k")
    try:
        yield served, connection
    finally:
        connection.abort()
        for writer in served.writers:
            writer.transport.abort()
        server.close()
        await asyncio.sleep(0)


def answer(body: bytes, *, status: str = "200 OK", head: str = "") -> bytes:
    """One HTTP answer."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body


async def test_requests_share_a_connection_and_carry_the_token() -> None:
    async with peer(answer(b"one"), answer(b"two")) as (served, connection):
        assert (await connection.post("/a", b"{}", within_s=30)).body == b"one"
        assert (await connection.post("/b", b"[]", within_s=30)).body == b"two"
        assert served.connections == 1
        assert served.requests[0].startswith(b"POST /base/a HTTP/1.1\r\n")
        assert b"Authorization: Bearer t0k\r\n" in served.requests[0]


async def test_chunks_with_extensions_and_trailers_are_put_together() -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n"
    async with peer(chunked, answer(b"next")) as (_, connection):
        assert (await connection.post("/", b"", within_s=30)).body == b"abcde"
        assert (await connection.post("/", b"", within_s=30)).body == b"next"


async def test_a_connection_that_was_closed_while_idle_is_opened_anew_unseen() -> None:
    async with peer(answer(b"one", head="Connection: close\r\n"), answer(b"two"), None, answer(b"three")) as made:
        served, connection = made
        for expected in (b"one", b"two", b"three"):
            assert (await connection.post("/", b"", within_s=30)).body == expected
        assert served.connections == 3


@pytest.mark.parametrize(
    "broken",
    [
        None,
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
        b"HTTP/1.1 " + b"x" * 200_000,
    ],
)
async def test_whatever_is_no_answer_is_the_same_error(broken: bytes | None) -> None:
    async with peer(broken) as (_, connection):
        with pytest.raises(UnreachableError):
            await connection.post("/", b"", within_s=30)


async def test_an_answer_that_does_not_come_in_time_is_given_up() -> None:
    async with peer(b"HTTP/1.1 200 OK\r\n") as (_, connection):
        with pytest.raises(UnreachableError):
            await connection.post("/", b"", within_s=0.05)


@pytest.mark.parametrize("url", ["ftp://x", "http://", "x", "http://h:port"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"not an http|[Pp]ort"):
        Address.parse(url)


def test_addresses() -> None:
    assert Address.parse("https://h/p/") == Address(host="h", port=443, tls=True, prefix="/p")
    assert Address.parse("http://[::1]:7878") == Address(host="::1", port=7878)


def test_a_token_that_would_break_the_head_is_refused() -> None:
    with pytest.raises(ValueError, match="header"):
        Connection(Address(host="h", port=1), "a\r\nX: y")


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        ("410 Gone", b"", SessionOverError),
        ("404 Not Found", b'{"code":"not_found"}', SessionOverError),
        ("404 Not Found", b"<html>", RefusedError),
        ("401 No", b'{"code":"unauthenticated","detail":"x"}', NotAllowedError),
        ("403 No", b"", NotAllowedError),
        ("422 No", b'{"code":"invalid_input"}', RefusedError),
        ("429 Slow", b"", UnreachableServerError),
        ("503 No", b"{", UnreachableServerError),
        ("302 There", b"", UnreachableServerError),
    ],
)
async def test_statuses_say_what_to_do(status: str, body: bytes, kind: type[Exception]) -> None:
    heard: list[bool] = []
    async with peer(answer(body, status=status)) as (served, _):
        channel = Channel(Address(host="127.0.0.1", port=served.port), "t", heard=lambda: heard.append(True))
        with pytest.raises(kind):
            await channel.call("/", b"", within_s=30)
        channel.close()
    assert heard == []


async def test_the_server_may_ask_for_patience() -> None:
    async with peer(answer(b"", status="503 No", head="Retry-After: 7\r\n")) as (served, _):
        channel = Channel(Address(host="127.0.0.1", port=served.port), "t", heard=lambda: None)
        with pytest.raises(UnreachableServerError) as caught:
            await channel.call("/", b"", within_s=30)
        channel.close()
    assert caught.value.retry_after_s == 7


def test_a_lease_is_judged_by_the_clock_that_saw_more_time_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monotonic, boottime = [100.0], [500.0]
    monkeypatch.setattr("time.monotonic", lambda: monotonic[0])
    monkeypatch.setattr("time.clock_gettime", lambda _: boottime[0])
    lease = Lease(lease_s=15, sent=Instant.now())
    monotonic[0] += 4
    boottime[0] += 4
    assert lease.remaining_s() == 11
    boottime[0] += 60
    assert lease.remaining_s() < 0
    lease.renew(sent=Instant.now())
    monotonic[0] += 16
    assert lease.remaining_s() < 0
