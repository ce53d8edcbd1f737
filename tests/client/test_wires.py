"""The four wires against a real socket: whole answers, streams, and connections that fail in each way they can."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ringback.client import AsyncRingback, Ringback, RingbackError, UnreachableError
from ringback.client.aio import AsyncBody, AsyncWire
from ringback.client.exchange import Answer, LostError, Request
from ringback.client.plainaio import AsyncPlainWire
from ringback.client.plainwire import PlainWire
from ringback.client.sync import Body, Wire
from ringback.client.wires import AsyncHttpxWire, HttpxWire


class Handler(BaseHTTPRequestHandler):
    """Answers by path; remembers nothing."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/cut":
                self._head(200, "100")
                self.wfile.write(b"half")
                self.close_connection = True
            case "/stream":
                self._head(200, None)
                self.wfile.write(b"one")
                self.wfile.flush()
                self.wfile.write(b"two")
                self.close_connection = True
            case "/silent":
                self.close_connection = True
            case "/refused":
                self._head(404, "7")
                self.wfile.write(b"nothing")
            case _:
                body = f"{self.path} {self.headers['X-A']}".encode()
                self._head(200, str(len(body)))
                self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._head(202, str(len(body)))
        self.wfile.write(body)

    def _head(self, status: int, length: str | None) -> None:
        self.send_response(status)
        self.send_header("X-B", "c")
        if length is None:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", length)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing to stderr."""


@contextmanager
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_address[1]}"
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with server() as address:
        yield address


class Blocked:
    """An async wire as a blocking one, so that one set of tests judges all four."""

    def __init__(self, wire: AsyncWire) -> None:
        self._wire = wire
        self._loop = asyncio.Runner()

    def send(self, request: Request) -> Answer:
        return self._loop.run(self._wire.send(request))

    def open(self, request: Request) -> tuple[Answer, Body]:
        answer, body = self._loop.run(self._wire.open(request))
        return answer, BlockedBody(self._loop, body)

    def close(self) -> None:
        self._loop.run(self._wire.close())
        self._loop.close()


class BlockedBody:
    def __init__(self, loop: asyncio.Runner, body: AsyncBody) -> None:
        self._loop, self._body = loop, body

    def read(self) -> bytes:
        return self._loop.run(self._body.read())

    def close(self) -> None:
        self._loop.run(self._body.close())


KINDS: dict[str, Any] = {
    "plain": PlainWire,
    "httpx": HttpxWire,
    "async": lambda url: Blocked(AsyncHttpxWire(url)),
    "async plain": lambda url: Blocked(AsyncPlainWire(url)),
}


@pytest.fixture(params=KINDS)
def wire(request: pytest.FixtureRequest, url: str) -> Iterator[Wire]:
    made: Wire = KINDS[request.param](url)
    yield made
    made.close()


def test_a_request_arrives_as_it_is_and_the_answer_too(wire: Wire) -> None:
    answer = wire.send(Request("GET", "/a%2Fb", {"q": "é&", "n": "1"}, {"X-A": "b"}))
    assert (answer.status, answer.headers["x-b"], answer.body) == (200, "c", b"/a%2Fb?q=%C3%A9%26&n=1 b")
    assert wire.send(Request("POST", "/x", body="é".encode())).body == "é".encode()
    assert wire.send(Request("GET", "/refused")).status == 404


def test_a_stream_is_read_to_its_end(wire: Wire) -> None:
    answer, body = wire.open(Request("GET", "/stream"))
    assert (answer.status, answer.body) == (200, b"")
    pieces = []
    while piece := body.read():
        pieces.append(piece)
    body.close()
    assert b"".join(pieces) == b"onetwo"


def test_a_refused_stream_has_its_body(wire: Wire) -> None:
    answer, body = wire.open(Request("GET", "/refused"))
    body.close()
    assert (answer.status, answer.body) == (404, b"nothing")


@pytest.mark.parametrize("path", ["/cut", "/silent"])
def test_a_connection_that_breaks_may_have_brought_the_request(wire: Wire, path: str) -> None:
    with pytest.raises(LostError) as caught:
        wire.send(Request("GET", path))
    assert caught.value.was_sent


@pytest.mark.parametrize("kind", KINDS)
def test_a_connection_that_never_was_brought_nothing(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    wire = KINDS[kind](f"http://127.0.0.1:{port}")
    with pytest.raises(LostError) as caught:
        wire.send(Request("GET", "/"))
    wire.close()
    assert not caught.value.was_sent


def test_without_a_server_every_call_says_so(tmp_path: Any) -> None:
    with Ringback(data=tmp_path) as client, pytest.raises(UnreachableError, match="ringback up"):
        client.tools()


async def test_the_async_client_asks_the_same(url: str) -> None:
    async with AsyncRingback(url, token="t") as client:
        with pytest.raises(RingbackError, match="expected JSON"):
            await client.tools()


@contextmanager
def counting(answers_each: int) -> Iterator[tuple[str, list[int]]]:
    """A server that leaves each connection after so many answers without a word, and counts the answers of each."""
    served: list[int] = []
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket, number: int) -> None:
        with connection, connection.makefile("rb") as lines:
            while served[number] < answers_each and _skip_request(lines):
                served[number] += 1
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def listen() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            served.append(0)
            threads.append(threading.Thread(target=serve, args=(connection, len(served) - 1)))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threads.append(threading.Thread(target=listen))
        threads[0].start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", served
        finally:
            listener.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()


def _skip_request(lines: Any) -> bool:
    while (line := lines.readline()) not in (b"\r\n", b""):
        pass
    return bool(line)


async def test_a_connection_serves_several_requests() -> None:
    with counting(answers_each=10) as (url, served):
        wire = AsyncPlainWire(url)
        answers = [(await wire.send(Request("GET", "/"))).body for _ in range(3)]
        await wire.close()
    assert (answers, served) == ([b"ok"] * 3, [3])


async def test_a_connection_that_went_stale_costs_no_request() -> None:
    with counting(answers_each=1) as (url, served):
        wire = AsyncPlainWire(url)
        answers = [(await wire.send(Request("GET", "/"))).body for _ in range(3)]
        await wire.close()
    assert (answers, served) == ([b"ok"] * 3, [1, 1, 1])


async def test_what_must_not_be_repeated_goes_over_a_connection_of_its_own() -> None:
    with counting(answers_each=10) as (url, served):
        wire = AsyncPlainWire(url)
        for method in ("GET", "POST", "GET"):
            await wire.send(Request(method, "/"))
        await wire.close()
    assert sorted(served) == [1, 2]
