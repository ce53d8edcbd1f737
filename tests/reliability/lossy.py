"""A TCP relay between a worker and its server that loses answers: the server has acted, the worker never hears of it."""

import socket
import threading
from contextlib import suppress
from typing import Self

READ_BYTES = 65536


class LossyRelay:
    """Relays connections to `port` of this machine; of the answers to requests for `path` it loses every second one."""

    def __init__(self, port: int, path: bytes) -> None:
        self._target, self._path = ("127.0.0.1", port), path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._asked = 0
        self._sockets: list[socket.socket] = []
        self.lost = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for each in self._sockets:
                _shut(each)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                with self._lock:
                    self._sockets += [near, far]
                is_doomed = threading.Event()
                threading.Thread(target=self._ask, args=(near, far, is_doomed), daemon=True).start()
                threading.Thread(target=self._answer, args=(near, far, is_doomed), daemon=True).start()

    def _ask(self, near: socket.socket, far: socket.socket, is_doomed: threading.Event) -> None:
        """Pass on what the worker sends; every second request for the path dooms its answer."""
        with suppress(OSError):
            while data := near.recv(READ_BYTES):
                if self._path in data.split(b"\r\n", 1)[0]:
                    with self._lock:
                        self._asked += 1
                        if self._asked % 2 == 0:
                            is_doomed.set()
                far.sendall(data)
        _shut(far)

    def _answer(self, near: socket.socket, far: socket.socket, is_doomed: threading.Event) -> None:
        """Pass on what the server says; a doomed answer is read and thrown away, and the connection with it."""
        with suppress(OSError):
            while data := far.recv(READ_BYTES):
                if is_doomed.is_set():
                    with self._lock:
                        self.lost += 1
                    break
                near.sendall(data)
        _shut(near)
        _shut(far)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
