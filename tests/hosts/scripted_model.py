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


@contextmanager
def serving(script: Script) -> Iterator[Model]:
    """The Messages API until the block ends."""
    began = time.monotonic()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

        def do_GET(self) -> None:
            self._json({})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if "count_tokens" in self.path or "/v1/messages" not in self.path:
                self._json({"input_tokens": 10})
                return
            with lock:
                reply = script(body)
                model.asked.append((time.monotonic() - began, body, reply))
                number = len(model.asked)
            self._answer(body, reply, number)

        def _answer(self, body: dict[str, Any], reply: Reply, number: int) -> None:
            is_text = isinstance(reply, str)
            block: dict[str, Any] = {"type": "text", "text": reply}
            if not is_text:
                block = {"type": "tool_use", "id": f"toolu_{number:04d}", **reply}
            message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
            usage = {"input_tokens": 1, "output_tokens": 1}
            stop = "end_turn" if is_text else "tool_use"
            if not body.get("stream"):
                self._json({**message, "content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage})
                return
            begin = {**block, "text": ""} if is_text else {**block, "input": {}}
            delta = {"type": "text_delta", "text": reply}
            if not is_text:
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events = [
                ("message_start", {"message": {**message, "content": [], "stop_reason": None, "usage": usage}}),
                ("content_block_start", {"index": 0, "content_block": begin}),
                ("content_block_delta", {"index": 0, "delta": delta}),
                ("content_block_stop", {"index": 0}),
                ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}),
                ("message_stop", {}),
            ]
            lines = [f"event: {kind}\ndata: {json.dumps({'type': kind, **rest})}\n\n" for kind, rest in events]
            self._send("".join(lines).encode(), "text/event-stream")

        def _json(self, value: Any) -> None:
            self._send(json.dumps(value).encode(), "application/json")

        def _send(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model = Model(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
