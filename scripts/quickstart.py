"""`make run`: a server and a worker on this checkout's own data, one real run, and what to paste next.

Speaks to Ringback as a user would, through the `ringback` command, and imports nothing of it. The run is the test suite of
`examples/quickstart`, which takes some seconds and in which one test fails on purpose: a failed run is a good demonstration.
With `--once` everything is stopped after the run, and the exit code is 0 if the run ended the way it should.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = ROOT / "examples" / "quickstart"
BIN = Path(sys.executable).parent
TOOL = "test"
PORT = 7878
READY_WITHIN_S = 60
STOPPED_WITHIN_S = 30
AT_ONCE_WITHIN_S = 5
ENDED_AS_EXPECTED = {0, 1}  # exit codes of `ringback run`: done, failed


class QuickstartError(Exception):
    """Something did not work; the text says what."""


class Local:
    """The `ringback` command on one data folder, with this environment's programs first."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.log = data / "up.log"
        self._environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
        self._environment["RINGBACK_DATA"] = str(data)
        for name in ("RINGBACK_URL", "RINGBACK_TOKEN", "RINGBACK_PROJECT"):  # another server's, if any
            self._environment.pop(name, None)

    def call(self, *arguments: str) -> int:
        """The exit code of a command in the example's folder, whose output the user sees."""
        return subprocess.run(self._command(arguments), cwd=PROJECT, env=self._environment, check=False).returncode

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A process of its own group, so that Ctrl-C reaches it through us and in our order; it logs to a file."""
        with self.log.open("wb") as log:
            return subprocess.Popen(
                self._command(arguments),
                cwd=self.data,  # not the example's folder: its tools are registered before our eyes
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def url(self) -> str | None:
        """The address of the server that answers for this data folder, if one does."""
        try:
            url = str(json.loads((self.data / "server.json").read_bytes())["url"])
            with urllib.request.urlopen(f"{url}/readyz", timeout=2) as answer:  # noqa: S310 (our server wrote it)
                return url if answer.status == 200 else None
        except (OSError, ValueError, KeyError):
            return None

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [str(BIN / "ringback"), *arguments]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make run", description="Start Ringback here and do one real run.")
    parser.add_argument("--once", action="store_true", help="stop after the run")
    is_once = parser.parse_args().once
    local = Local(Path(os.environ.get("RINGBACK_DATA") or ROOT / ".ringback").expanduser().absolute())
    local.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell started us with Ctrl-C ignored
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda *_: sys.exit(0))
    try:
        with serving(local) as (url, process):
            do_one_run(local)
            if is_once:
                return 0
            say_what_is_next(local, url)
            return wait_for_its_end(local, process)
    except QuickstartError as error:
        print(f"make run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


@contextmanager
def serving(local: Local) -> Iterator[tuple[str, subprocess.Popen[bytes] | None]]:
    """A ready server with a worker: the one that runs on this data folder already, or one that is stopped at the end."""
    if running := local.url():
        say(f"using the server that runs here already: {running}")
        yield running, None
        return
    port = free_port()
    say(f"starting server and worker on port {port}, data in {local.data}, log in {local.log.name} there")
    process = local.start("up", "--data", str(local.data), "--port", str(port))
    try:
        yield wait_until_ready(local, process), process
    finally:
        stop(process)


def free_port() -> int:
    for port in (PORT, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                say(f"port {port} is taken by another program: choosing a free one")
            else:
                return int(probe.getsockname()[1])
    raise QuickstartError("no port is free")


def wait_until_ready(local: Local, process: subprocess.Popen[bytes]) -> str:
    give_up_at = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < give_up_at:
        if process.poll() is not None:
            break
        if url := local.url():
            return url
        time.sleep(0.1)
    last = local.log.read_text(errors="replace").strip().splitlines()[-15:]
    state = "is not ready" if process.poll() is None else f"ended with exit code {process.returncode}"
    raise QuickstartError(f"the server {state}; its last lines ({local.log}):\n" + "\n".join(last))


def stop(process: subprocess.Popen[bytes]) -> None:
    """Let it drain; a second Ctrl-C, or too long a wait, makes it end at once."""
    if process.poll() is not None:
        return
    say("stopping server and worker")
    for within_s in (STOPPED_WITHIN_S, AT_ONCE_WITHIN_S):
        process.terminate()
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(within_s)
            return
    process.kill()
    process.wait()


def wait_for_its_end(local: Local, process: subprocess.Popen[bytes] | None) -> int:
    if process is None:
        return 0
    code = process.wait()
    raise QuickstartError(f"the server ended with exit code {code}; its log is {local.log}")


def do_one_run(local: Local) -> None:
    say(f"registering the tools of {PROJECT.relative_to(ROOT)}/ringback.toml")
    if code := local.call("apply"):
        raise QuickstartError(f"`ringback apply` ended with exit code {code}")
    say(f"one real run: ringback run {TOOL}   (one of its tests fails on purpose)")
    code = local.call("run", TOOL, "--output")
    if code not in ENDED_AS_EXPECTED:
        raise QuickstartError(f"the run did not end as it should: `ringback run` ended with exit code {code}")


def say_what_is_next(local: Local, url: str) -> None:
    ringback = shlex.quote(str(BIN / "ringback"))
    data = f"RINGBACK_DATA={shlex.quote(str(local.data))}"
    body = json.dumps({"tool": TOOL})
    say("serving until Ctrl-C; to paste in another terminal:")
    print(
        f"\n  {data} {ringback} run {TOOL} --key second\n"
        f'\n  curl -si {url}/jobs -H "Authorization: Bearer $({data} {ringback} token)" \\\n'
        f"    -H 'Content-Type: application/json' -H 'Idempotency-Key: third' -d '{body}'\n"
        f"\n  {ringback} mcp install claude-code --data {shlex.quote(str(local.data))}   # or codex, vscode, cursor …\n",
        flush=True,
    )


def say(text: str) -> None:
    print(f"== {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
