"""Puts a server together: the only module that knows which store, clock and door are used.

Order matters on the way up: the port is taken before the ledger is opened, so a second server on the same port fails without
touching anything; `server.json` is written last, when requests are answered. On the way down doors close first, so that every
stream and every wait ends, then the loops stop, then the ledger.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
import uvloop

from ringback import __version__
from ringback.api.corking import CorkedHttpProtocol
from ringback.core import Core, Options, assemble
from ringback.domain.moments import DAY, micros
from ringback.services.access import SCOPES, WORKER_SCOPES, new_token
from ringback.settings.places import Places
from ringback.settings.secret_values import secret_value
from ringback.store.clock import SystemChance, SystemClock, UuidIds
from ringback.store.local_notify import LocalNotify
from ringback.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from ringback.settings.server import ServerSettings

LISTEN_BACKLOG = 2048
LOCAL_OWNER = "local-owner"


class StartupError(Exception):
    """The server can't start; the message is one line for people."""


def serve(settings: ServerSettings) -> None:
    """Serve until SIGTERM or SIGINT, then drain within `settings.drain_s`.

    Raises:
        StartupError: port taken, data folder not writable, store not known.
        StoreUnavailableError: the ledger is in use or can't be opened.
    """
    path = _ledger_path(settings)
    os.umask(0o077)  # whatever the server writes is its owner's alone
    _make_folder(settings.data)
    listener = _listen(settings.host, settings.port)
    with listener:
        uvloop.run(_serve(settings, path, listener))


def _collect_rarely() -> None:
    """What was imported lives as long as the process, and requests leave few circles behind: look for them seldom."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


async def _serve(settings: ServerSettings, path: Path, listener: socket.socket) -> None:
    from ringback.a2a import http as a2a
    from ringback.api.app import create_app
    from ringback.mcp.http import PATH, McpDoor

    clock, notify = SystemClock(), LocalNotify()
    store = SqliteStore(path, clock=clock, notify=notify)
    await store.open()
    try:
        options = Options(
            lease=micros(settings.lease_s),
            beat_every=micros(settings.heartbeat_s),
            keep=round(settings.retention_days * DAY),
            requests_per_s=settings.requests_per_s,
            requests_burst=settings.requests_burst,
            secret_of=secret_value,
            public_url=settings.public_url,
        )
        core = assemble(
            store=store,
            clock=clock,
            ids=UuidIds(),
            chance=SystemChance(),
            notify=notify,
            pepper=_secret_file(settings.data / "token.key", lambda: secrets.token_hex(32)).encode(),
            options=options,
        )
        await core.start()
        try:
            await _remember_local_tokens(core, settings.places)
            api = create_app(core, version=__version__)
            mcp = McpDoor(api, core.access.owner_of)
            mounted: dict[str, ASGIApp] = {PATH: mcp, **a2a.mounts(core, __version__)}
            server = _Server(core, _config(create_app(core, version=__version__, mounted=mounted), settings))
            _collect_rarely()
            try:
                with _recorded(settings, listener):
                    await server.serve(sockets=[listener])
            finally:
                await mcp.aclose()
        finally:
            await core.stop()
    finally:
        await store.aclose()


async def _remember_local_tokens(core: Core, places: Places) -> None:
    owner = _secret_file(places.token, new_token)
    worker = _secret_file(places.data / "worker.token", new_token)
    await core.directory.install_owner(LOCAL_OWNER)
    await core.access.remember(owner, owner=LOCAL_OWNER, scopes=SCOPES, user_id=LOCAL_OWNER)
    await core.access.remember(worker, owner="local-worker", scopes=WORKER_SCOPES)


class _Server(uvicorn.Server):
    """Closes the doors as soon as it is told to stop, so that streams and waits don't hold up the end."""

    def __init__(self, core: Core, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._core = core

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._core.close_doors()
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Like uvicorn's, without raising the signal again at the end: an asked-for end is no failure."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)


def _config(app: ASGIApp, settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="none",
        http=CorkedHttpProtocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        date_header=False,
        backlog=LISTEN_BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, int(settings.drain_s)),
    )


def _ledger_path(settings: ServerSettings) -> Path:
    if settings.dispatch != "builtin":
        raise StartupError("dispatch: only `builtin` is available in this release")
    prefix = "sqlite:///"
    if not settings.store_url.startswith(prefix):
        raise StartupError("store: only sqlite:///PATH is available in this release")
    return Path(settings.store_url.removeprefix(prefix)).expanduser().absolute()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartupError(f"data folder {folder} can't be made: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StartupError(f"data folder {folder} is not writable")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise StartupError(f"can't listen on {host} port {port}: {error.strerror or error}") from None
    listener.listen(LISTEN_BACKLOG)
    listener.set_inheritable(False)
    return listener


@contextmanager
def _recorded(settings: ServerSettings, listener: socket.socket) -> Iterator[None]:
    """`server.json` while the server runs, so that clients of this data folder find it."""
    place = settings.places.server
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    _write_private(place, json.dumps({"url": f"http://{shown}:{port}", "pid": os.getpid(), "version": __version__}))
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            place.unlink()


def _secret_file(path: Path, make: Callable[[], str]) -> str:
    """The secret in `path`, made on first use; readable by its owner alone."""
    if not path.exists():
        _write_private(path, make())
    return path.read_text(encoding="ascii").strip()


def _write_private(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all, mode 0600."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(fd, text.encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    draft.replace(path)
