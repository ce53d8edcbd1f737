"""One installation in a scratch folder: a server process, worker processes, a client, and no trace of it afterwards.

The processes are those of the product, started as `ringback up` starts them, but one by one, so that a test may kill
any of them alone. The address stays the same over restarts of the server. `close` ends everything and fails when a
process that belongs to an attempt of this installation is left.
"""

import os
import re
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ringback.client.embedded import probe
from ringback.settings.connection import recorded_server
from ringback.settings.server import ServerSettings
from ringback.worker.settings import WorkerSettings
from tests.reliability.client import Client
from tests.reliability.processes import Process, carrying
from tests.reliability.waiting import until

LEASE_S = 3.0
ERROR = re.compile(r'"level": ?"(error|critical)"|Traceback')
PROFILE = ("pool", "limits", "env", "cwd", "secrets", "envAllow", "space")
OUTER = ("summary", "requiresIdempotencyKey")
ROOT = Path(__file__).resolve().parent.parent.parent
FUNCTIONS = "tests.reliability.functions:app"
# A session's leader without a terminal gets the first one that it opens; then it becomes the program.
ON_TERMINAL = (
    "import os, sys; os.open(sys.argv[1], os.O_RDWR); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)


class Installation:
    """Nothing runs yet; `with` closes it."""

    def __init__(
        self, folder: Path, *, lease_s: float = LEASE_S, data_folder: Path | None = None, **settings: Any
    ) -> None:
        """`settings` are more fields of `ServerSettings`."""
        self.folder = folder
        self.data = data_folder or folder / "data"
        self.work = folder / "work"
        for each in (self.data, self.work):
            each.mkdir(parents=True, exist_ok=True)
        self.settings = ServerSettings(
            data=self.data, port=_free_port(), lease_s=lease_s, log_format="json", **settings
        )
        self.url = f"http://127.0.0.1:{self.settings.port}"
        self.server: Process | None = None
        self.workers: list[Process] = []
        self.tools: dict[str, Mapping[str, Any]] = {}
        self._processes: list[Process] = []
        self._clients: list[Client] = []
        self._count = 0

    def __enter__(self) -> "Installation":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- processes

    def start_server(self, env: Mapping[str, str] | None = None, *, is_awaited: bool = True) -> Process:
        """Start the server process; usually until it answers."""
        settings = self.settings.model_dump_json().encode() + b"\n"
        process = self._spawn("server", ["ringback.cli.serving"], env, first=settings)
        self.server = process
        if is_awaited:
            until(lambda: self.is_ready(process), "the server answers", within_s=60)
        return process

    def is_ready(self, process: Process) -> bool:
        assert process.code is None, f"the server ended: {process.log[-2000:]}"
        record = recorded_server(self.settings.places)
        return record is not None and record.get("pid") == process.pid and probe(self.url, "/readyz") == 200

    def start_worker(
        self,
        name: str | None = None,
        *,
        slots: int = 4,
        pools: Sequence[str] = (),
        app: str | None = None,
        drain_grace_s: float = 2.0,
        env: Mapping[str, str] | None = None,
        terminal: str | None = None,
        url: str | None = None,
        is_awaited: bool = True,
    ) -> Process:
        """Start a worker process; usually until it is attached.

        Args:
            terminal: what becomes its controlling terminal.
            url: another way to the server.
        """
        self._count += 1
        name = name or f"w{self._count}"
        words = [
            "ringback.cli.attached",
            *([app] if app else []),
            "--server",
            url or self.url,
            "--data",
            str(self.data),
        ]
        words += ["--name", name, "--slots", str(slots), "--drain-grace", str(drain_grace_s), "--log-format", "json"]
        words += [word for pool in pools for word in ("--pool", pool)]
        token = {} if url is None else {"RINGBACK_TOKEN": (self.data / "worker.token").read_text(encoding="ascii")}
        process = self._spawn(f"worker-{name}-{self._count}", words, {**token, **(env or {})}, terminal=terminal)
        self.workers.append(process)
        if is_awaited:
            until(lambda: attached_times(process), "the worker attaches", within_s=60)
        return process

    def _spawn(
        self,
        name: str,
        words: Sequence[str],
        env: Mapping[str, str] | None,
        *,
        first: bytes = b"",
        terminal: str | None = None,
    ) -> Process:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("RINGBACK_")}
        path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
        ours = {"RINGBACK_PARENT": str(os.getpid()), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        log = self.folder / f"{name}.log"
        command = [sys.executable, *(["-c", ON_TERMINAL, terminal] if terminal else []), "-m", *words]
        process = Process(name, command, log=log, env=kept | ours | dict(env or {}), cwd=self.work, first=first)
        self._processes.append(process)
        return process

    def log(self) -> str:
        """What all processes have logged so far."""
        return "".join(path.read_text(encoding="utf-8", errors="replace") for path in sorted(self.folder.glob("*.log")))

    @property
    def mark(self) -> str:
        """What every process of an attempt of this installation carries in RINGBACK_WORKER."""
        settings = WorkerSettings(url=self.url, token="", data_dir=self.data, name="")
        return settings.mark

    def attempt_processes(self) -> list[int]:
        """Every living process that belongs to an attempt of this installation, or is a function interpreter."""
        return carrying("RINGBACK_WORKER", self.mark)

    # --- talking

    def client(self, token: str | None = None) -> Client:
        """A client with this token, or the local owner's."""
        token = token or self.settings.places.token.read_text(encoding="ascii").strip()
        client = Client(self.url, token, project="default")
        self._clients.append(client)
        return client

    def command(self, script: str | Sequence[str], *, inputs: Mapping[str, Any] | None = None, **policy: Any) -> str:
        """Release a command tool; its name. A text is a script for `sh`; `policy` is the definition's, by its names.

        Those that `PROFILE` and `OUTER` name go where they belong.
        """
        self._count += 1
        profile = {name: policy.pop(name) for name in PROFILE if name in policy}
        outer = {name: policy.pop(name) for name in OUTER if name in policy}
        definition: dict[str, Any] = {
            "name": f"tool_{self._count}",
            "runtime": "command",
            "inputSchema": {"type": "object", "properties": dict(inputs or {}), "additionalProperties": False},
            "profile": {
                "command": ["sh", "-c", script] if isinstance(script, str) else list(script),
                "cwd": str(self.work),
                **profile,
            },
            "policy": policy,
            **outer,
        }
        client = self.client()
        client.apply(definition)
        return str(definition["name"])

    def lines(self, name: str) -> list[str]:
        """The lines of a file in the work folder; none when it does not exist."""
        path = self.work / name
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def close(self) -> None:
        """End everything, and fail when something is left."""
        for client in self._clients:
            client.close()
        for process in self._processes:
            if process.code is None:
                process.kill()
            process.close()
        until(lambda: not self.attempt_processes(), "no process of an attempt is left", within_s=30)


def python(code: str) -> list[str]:
    """A command that runs `code`."""
    return [sys.executable, "-c", code]


def errors_in(log: str) -> list[str]:
    """What a log says of errors: each such record, and each traceback with what it leads to."""
    lines = log.splitlines()
    starts = [number for number, line in enumerate(lines) if ERROR.search(line)]
    return [
        "\n".join(lines[number : number + 40]) if "Traceback" in lines[number] else lines[number] for number in starts
    ]


def attached_times(process: Process) -> int:
    """How often the worker has attached so far."""
    assert process.code is None, f"the worker ended: {process.log[-2000:]}"
    return process.log.count('"event": "attached"')


def _free_port() -> int:
    with socket.socket() as probe_socket:
        probe_socket.bind(("127.0.0.1", 0))
        return int(probe_socket.getsockname()[1])
