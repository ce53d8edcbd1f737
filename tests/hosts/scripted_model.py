"""A model's server on the loopback that says what a script tells it, and keeps what it was asked with the time."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = str | dict[str, Any]  # a text, or a call of a tool: {"name", "input"}
Script = Callable[[dict[str, Any]], Reply]


@dataclass
class Model:
    """Where it listens, and what it was asked: seconds since its start, the request, the reply."""

    url: str
    asked: list[tuple[float, dict[str, Any], Reply]] = field(default_factory=list)


class _Server(ThreadingHTTPServer):
    """The Messages API, as far as an assistant uses it."""

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script, self.began, self.lock = script, time.monotonic(), threading.Lock()
        self.model = Model(f"http://127.0.0.1:{self.server_address[1]}")

    def reply(self, body: dict[str, Any]) -> tuple[Reply, int]:
        """What the script says, and which answer that is."""
        with self.lock:
            reply = self.script(body)
            self.model.asked.append((time.monotonic() - self.began, body, reply))
            return reply, len(self.model.asked)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self._send(b"{}", "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path or "/v1/messages" not in self.path:
            self._send(b'{"input_tokens": 10}', "application/json")
            return
        reply, number = self.server.reply(body)
        message, block = _message(body, reply, number)
        if body.get("stream"):
            self._send(_stream(message, block), "text/event-stream")
        else:
            self._send(json.dumps({**message, "content": [block]}).encode(), "application/json")

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _message(body: dict[str, Any], reply: Reply, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The message, and the one block that it consists of."""
    block: dict[str, Any] = {"type": "text", "text": reply}
    if not isinstance(reply, str):
        block = {"type": "tool_use", "id": f"toolu_{number:04d}", **reply}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
    stop = "end_turn" if isinstance(reply, str) else "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**message, "stop_reason": stop, "stop_sequence": None, "usage": usage}, block


def _stream(message: dict[str, Any], block: dict[str, Any]) -> bytes:
    """The same in pieces, as server-sent events."""
    begin, delta = {**block, "text": ""}, {"type": "text_delta", "text": block.get("text")}
    if block["type"] == "tool_use":
        begin, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    end = {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": message["usage"]}
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": begin}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", end),
        ("message_stop", {}),
    ]
    return "".join(f"event: {kind}\ndata: {json.dumps({'type': kind, **rest})}\n\n" for kind, rest in events).encode()


@contextmanager
def serving(script: Script) -> Iterator[Model]:
    """The Messages API until the block ends."""
    server = _Server(script)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
