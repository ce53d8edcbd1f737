"""One installation in a scratch folder, for one figure: a server, workers, and no trace of them afterwards.

The processes are those that `ringback up` starts, started one by one, so that each can be kept on a core of its own.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import httpx2

from bench.machine import ROOT, pinned
from ringback.client.embedded import probe
from ringback.settings.connection import recorded_server
from ringback.settings.server import ServerSettings

APP = "bench.noop:app"
READY_WITHIN_S = 60.0
COMMAND = "true_command"


class Installation:
    """Nothing runs yet; leaving the block ends everything."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ringback-bench-"))
        self.settings = ServerSettings(data=self.folder / "data", port=0, log_format="json", log_level="warning")
        self.settings.data.mkdir()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.server = 0
        self.url = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdin is not None:
                with suppress(BrokenPipeError):
                    process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_server(self, *, core: int | None = None) -> None:
        """Start the server and wait until it answers."""
        settings = self.settings.model_dump_json().encode() + b"\n"
        process = self._spawn("server", ["ringback.cli.serving"], core, first=settings)
        self._await(process, lambda: self._is_ready(process.pid))
        record = recorded_server(self.settings.places)
        assert record is not None
        self.server, self.url = process.pid, str(record["url"])

    def start_worker(self, *, slots: int = 4, app: str | None = None, core: int | None = None) -> int:
        """Start a worker and wait until it is attached; its pid."""
        words = [
            "ringback.cli.attached",
            *([app] if app else []),
            "--server",
            self.url,
            "--data",
            str(self.settings.data),
        ]
        words += ["--slots", str(slots), "--log-format", "json"]
        process = self._spawn("worker", words, core)
        log = self.folder / "worker.log"
        self._await(process, lambda: '"attached"' in log.read_text(encoding="utf-8", errors="replace"))
        return process.pid

    @property
    def token(self) -> str:
        return self.settings.places.token.read_text(encoding="ascii").strip()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def ask(self, method: str, path: str, **given: Any) -> Any:
        """The JSON of one request that must succeed."""
        headers = {"authorization": f"Bearer {self.token}", **given.pop("headers", {})}
        answer = httpx2.request(method, self.url + path, headers=headers, timeout=120, trust_env=False, **given)
        answer.raise_for_status()
        return answer.json()

    def release(self, name: str, command: Sequence[str], **profile: Any) -> None:
        """Release a command tool without arguments."""
        definition = {
            "name": name,
            "runtime": "command",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
            "profile": {"command": list(command), "cwd": str(self.folder), **profile},
        }
        self.ask("PUT", "/v1/tools", json={"definitions": [definition]})

    def _is_ready(self, pid: int) -> bool:
        record = recorded_server(self.settings.places)
        return record is not None and record.get("pid") == pid and probe(str(record["url"]), "/readyz") == 200

    def _spawn(
        self, name: str, words: Sequence[str], core: int | None, first: bytes = b""
    ) -> "subprocess.Popen[bytes]":
        kept: Mapping[str, str] = {key: value for key, value in os.environ.items() if not key.startswith("RINGBACK_")}
        command = [*([] if core is None else pinned(core)), sys.executable, "-m", *words]
        environment = {**kept, "PYTHONPATH": str(ROOT)}
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self.folder,
                start_new_session=True,
            )
        self._processes.append(process)
        if first:
            assert process.stdin is not None
            process.stdin.write(first)
            process.stdin.flush()
        return process

    def _await(self, process: "subprocess.Popen[bytes]", is_there: Any) -> None:
        give_up = time.monotonic() + READY_WITHIN_S
        while not is_there():
            if process.poll() is not None or time.monotonic() > give_up:
                raise RuntimeError(
                    "".join(path.read_text(errors="replace") for path in self.folder.glob("*.log"))[-2000:]
                )
            time.sleep(0.02)
