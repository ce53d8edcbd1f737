"""Other people's servers for tests: real ones on the loopback, which play a job API and remember what they were asked."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.reliability.waiting import until


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Say:
    """An answer: JSON, or raw bytes; `hangs` never comes."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False


Play = Callable[[Seen], Say]


class OtherSide:
    """One server. `play` decides what it answers; `with` starts and ends it."""

    def __init__(self, play: Play | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        self.seen: list[Seen] = []
        self.play: Play = play or (lambda _: Say(404))
        self._released = threading.Event()
        self._open: set[socket.socket] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = False
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
            self._server.handle_error = lambda request, client_address: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def asked(self, method: str, path: str | None = None) -> list[Seen]:
        """The requests so far with this method (and path, without its query)."""
        seen = [each for each in self.seen if each.method == method]
        return [each for each in seen if path is None or each.path.partition("?")[0] == path]

    def until_asked(self, method: str, count: int = 1) -> list[Seen]:
        until(lambda: len(self.asked(method)) >= count, f"{count} {method} came in", within_s=30)
        return self.asked(method)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._server.shutdown()
        for connection in tuple(self._open):  # kept alive by clients that may use them again
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        side = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                side._open.add(self.connection)

            def finish(self) -> None:
                side._open.discard(self.connection)
                with suppress(OSError):
                    super().finish()

            def handle_one(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(self.command, self.path, headers, self.rfile.read(size), time.monotonic())
                side.seen.append(seen)
                side.answer(self, side.play(seen))

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one  # noqa: N815 - the library's names

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
                pass

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler, say: Say) -> None:
        if say.hangs:
            self._released.wait(30)
            handler.close_connection = True
            return
        body = say.body if isinstance(say.body, bytes) else b"" if say.body is None else json.dumps(say.body).encode()
        try:
            handler.send_response(say.status)
            if not isinstance(say.body, bytes) and say.body is not None:
                handler.send_header("content-type", "application/json")
            for name, value in say.headers.items():
                handler.send_header(name, value)
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            handler.close_connection = True


class JobApi(OtherSide):
    """A job API: `POST /jobs` starts one, `GET /jobs/N` shows it as `shown` says, `DELETE /jobs/N` is answered by `on_delete`."""

    def __init__(self, accepted: Callable[[str], Say] | None = None) -> None:
        super().__init__(self._play)
        self.accepted = accepted or (lambda job: Say(202, {"id": job}, {"Location": f"/jobs/{job}"}))
        self.shown: list[Say] = []
        """What the status says, one look after the other; the last one stays."""
        self.on_delete: Callable[[Seen], Say] = lambda _: Say(405)
        self.more: dict[str, Say] = {}
        self.started: list[str] = []
        self._looks = 0

    def _play(self, seen: Seen) -> Say:
        path = seen.path.partition("?")[0]
        if f"{seen.method} {path}" in self.more:
            return self.more[f"{seen.method} {path}"]
        match seen.method:
            case "POST" if path == "/jobs":
                self.started.append(str(len(self.started) + 1))
                return self.accepted(self.started[-1])
            case "GET" if path.startswith("/jobs/") and self.shown:
                say = self.shown[min(self._looks, len(self.shown) - 1)]
                self._looks += 1
                return say
            case "DELETE" | "POST":
                return self.on_delete(seen)
            case _:
                return Say(404)

    def show(self, *says: Say) -> None:
        """From now on."""
        self._looks = 0
        self.shown = list(says)


def running(**more: Any) -> Say:
    return Say(200, {"status": "running", **more})


def done(result: Any = None) -> Say:
    return Say(200, {"status": "done", "result": result})
