"""A server at an address that speaks 2026-07-28 alone, and one that answers badly: headers, secrets in them, and limits."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.hosted.calling import calling, text_of

KEY = "S3cr3t-key-0123456789"


class Modern(BaseHTTPRequestHandler):
    """One answer a request, as JSON."""

    seen: list[tuple[dict[str, str], dict[str, Any]]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
        status, answer = 200, self._answer(body)
        if "error" in answer:
            status = 400
        data = json.dumps({"jsonrpc": "2.0", "id": body.get("id"), **answer}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any]
        match body["method"]:
            case "server/discover":
                found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
            case "tools/call" if body["params"]["name"] == "huge":
                found = {"content": [{"type": "text", "text": "x" * (17 * 1024 * 1024)}]}
            case "tools/call":
                found = {"content": [{"type": "text", "text": f"the key is {KEY}"}]}
            case _:
                return {"error": {"code": -32022, "message": "unsupported", "data": {"supported": ["2026-07-28"]}}}
        return {"result": {"resultType": "complete", **found}}

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    Modern.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Modern)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_the_newer_era_over_http(url: str) -> None:
    server = {"url": url, "headers": {"Authorization": "Bearer ${API_KEY}"}, "secrets": ["API_KEY"]}
    async with calling({"API_KEY": KEY}) as call:
        assert text_of(await call(server, "tell")) == "the key is ***"
        huge = await call(server, "huge")
        assert (huge.kind, huge.error_kind) == ("failed", "tool_error")
        assert text_of(await call(server, "tell")) == "the key is ***"
        wrong = await call({**server, "headers": {"X": "${OTHER}"}}, "tell")
        assert "refers to ${OTHER}, which is not among the server's secrets" in (wrong.error_message or "")
    headers, body = next((headers, body) for headers, body in Modern.seen if body["method"] == "tools/call")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "tell")
    assert body["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] == "ringback"
