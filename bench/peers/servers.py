"""Redis and PostgreSQL for the peers: own processes on free ports of the loopback, in scratch folders, stopped by their owner.

Redis runs without persistence, as in the published comparisons. PostgreSQL runs with its defaults, so a commit waits for the
disk; its binaries are the system's, or those of a wheel when the system has none. `initdb` refuses root, so as root it runs as
the user `postgres` (or `nobody`).
"""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.peers.environments import UnavailableError, interpreter

READY_WITHIN_S = 30.0
_SETTINGS = {
    "max_connections": "200",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "listen_addresses": "127.0.0.1",
}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """A Redis server without persistence; its URL without a database.

    Raises:
        UnavailableError: there is no `redis-server`.
    """
    command = shutil.which("redis-server")
    if command is None:
        raise UnavailableError("no redis-server (the system's package redis-server)")
    port = free_port()
    words = [
        command,
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no",
        "--dir",
        str(folder),
    ]
    with _running(words, port, folder / "redis.log"):
        yield f"redis://127.0.0.1:{port}"


@contextmanager
def postgres(folder: Path) -> Iterator["Postgres"]:
    """A PostgreSQL server in `folder`, which must be reachable for the user that it runs as.

    Raises:
        UnavailableError: there are no binaries, or the cluster can't be made.
    """
    programs = _binaries()
    user = _unprivileged()
    data = folder / "postgres"
    data.mkdir(mode=0o700)
    if user is not None:
        os.chown(data, *_ids(user))
    initdb = [
        str(programs / "initdb"),
        "-D",
        str(data),
        "-A",
        "trust",
        "-U",
        "postgres",
        "--encoding=UTF8",
        "--locale=C",
    ]
    done = subprocess.run(initdb, capture_output=True, text=True, check=False, cwd="/", user=user, group=user)
    if done.returncode:
        raise UnavailableError(f"initdb: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    port = free_port()
    settings = {**_SETTINGS, "port": str(port), "unix_socket_directories": str(data)}
    words = [str(programs / "postgres"), "-D", str(data)]
    words += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    with _running(words, port, folder / "postgres.log", user=user):
        server = Postgres(programs, data, port)
        server.wait()
        yield server


class Postgres:
    """A running cluster."""

    def __init__(self, programs: Path, data: Path, port: int) -> None:
        self._programs, self._data, self._port = programs, data, port

    @property
    def version(self) -> str:
        done = subprocess.run(
            [str(self._programs / "postgres"), "--version"], capture_output=True, text=True, check=True
        )
        return done.stdout.split(maxsplit=2)[2].split()[0]

    def wait(self) -> None:
        """Return once it takes connections."""
        give_up = time.monotonic() + READY_WITHIN_S
        while self._ask("SELECT 1", "postgres"):
            if time.monotonic() > give_up:
                raise UnavailableError("PostgreSQL does not answer")
            time.sleep(0.1)

    def database(self, name: str) -> str:
        """The address of a new, empty database."""
        if self._ask(f"CREATE DATABASE {name}", "postgres"):
            raise UnavailableError(f"the database {name} can't be made")
        return f"postgresql://postgres@127.0.0.1:{self._port}/{name}"

    def _ask(self, question: str, database: str) -> int:
        address = ["-h", "127.0.0.1", "-p", str(self._port), "-U", "postgres", "-d", database]
        psql = self._programs / "psql"
        command = str(psql) if psql.is_file() else shutil.which("psql")
        if command is None:
            raise UnavailableError("no psql")
        return subprocess.run([command, *address, "-qAtc", question], capture_output=True, check=False).returncode


def _binaries() -> Path:
    """The folder of `initdb` and `postgres`."""
    if found := shutil.which("postgres"):
        return Path(found).resolve().parent
    if folders := sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name)):
        return folders[-1]
    environment = interpreter("pgserver").parent.parent
    for place in environment.glob("lib/python*/site-packages/*/pginstall/bin"):
        return place
    raise UnavailableError("no PostgreSQL binaries (the system's package postgresql)")


def _unprivileged() -> str | None:
    """Who runs PostgreSQL; None: we ourselves."""
    if os.geteuid():
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def _ids(user: str) -> tuple[int, int]:
    entry = pwd.getpwnam(user)
    return entry.pw_uid, entry.pw_gid


@contextmanager
def _running(words: list[str], port: int, log: Path, *, user: str | None = None) -> Iterator[None]:
    group = None if user is None else _ids(user)[1]
    with log.open("wb") as sink:
        process = subprocess.Popen(words, stdout=sink, stderr=sink, cwd="/", user=user, group=group)
    try:
        _listening(process, port)
        yield
    finally:
        process.terminate()  # for PostgreSQL the quiet end; clients are gone by now
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listening(process: "subprocess.Popen[bytes]", port: int) -> None:
    give_up = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < give_up and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise UnavailableError(f"{Path(str(process.args[0])).name} did not start")  # type: ignore[index]
