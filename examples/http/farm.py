"""A job API as there are many: 202 with a Location, a status with progress, DELETE to stop, idempotency keys."""

import json
import sys
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FRAME_S = 0.2
PORT = 8099
jobs: dict[str, dict[str, Any]] = {}


class Farm(BaseHTTPRequestHandler):
    """Renderings, kept in memory; each frame takes a moment."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Start a rendering, once for each key."""
        wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = self.headers.get("Idempotency-Key", str(len(jobs) + 1))
        jobs.setdefault(name, {**wanted, "began": time.monotonic(), "is_stopped": False})
        self._say(HTTPStatus.ACCEPTED, {"id": name}, {"Location": f"/v1/renderings/{name}", "Retry-After": "0"})

    def do_GET(self) -> None:
        """Show a rendering."""
        job = jobs.get(self.path.rpartition("/")[2])
        if job is None:
            self._say(HTTPStatus.NOT_FOUND, {"detail": "no such rendering"})
            return
        frames = min(job["frames"], int((time.monotonic() - job["began"]) / FRAME_S))
        if job["is_stopped"]:
            self._say(HTTPStatus.OK, {"status": "cancelled"})
        elif frames < job["frames"]:
            progress = {"done": frames, "total": job["frames"], "message": f"frame {frames + 1}"}
            self._say(HTTPStatus.OK, {"status": "rendering", "progress": progress})
        else:
            self._say(HTTPStatus.OK, {"status": "done", "result": {"film": f"{job['scene']}.mp4", "frames": frames}})

    def do_DELETE(self) -> None:
        """Stop a rendering."""
        job = jobs.get(self.path.rpartition("/")[2])
        if job is not None:
            job["is_stopped"] = True
        self._say(HTTPStatus.NOT_FOUND if job is None else HTTPStatus.ACCEPTED, {})

    def _say(self, status: HTTPStatus, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Say nothing: the farm is an example, not a server to watch."""


def main() -> None:
    """Serve until Ctrl-C."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
    with ThreadingHTTPServer(("127.0.0.1", port), Farm) as server:
        print(f"the farm listens at http://127.0.0.1:{server.server_address[1]}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("closed")


if __name__ == "__main__":
    main()
