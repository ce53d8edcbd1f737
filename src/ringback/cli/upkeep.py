"""The process that `ringback up` becomes: it watches a server and a worker, and tells the user where they are.

It lives as long as the server, so it imports nothing that it does not need (see `plan`).
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from ringback.cli.exits import Exit
from ringback.cli.plan import PLAN_FLAG, Plan
from ringback.cli.preflight import StartError
from ringback.cli.supervisor import Supervisor
from ringback.cli.terminal import Terminal, report
from ringback.client.probe import answer
from ringback.worker import logs

WORKER_GRACE_SHARE = 0.4  # of the time to drain; the worker needs the rest of its share to kill and to report


def main() -> NoReturn:
    """`python -m ringback up --plan-fd N`; ends the process."""
    plan = Plan.received(int(sys.argv[sys.argv.index(PLAN_FLAG) + 1]))
    logs.configure(plan.settings["log_level"], plan.settings["log_format"])
    out = Terminal(json_mode=plan.json_mode)
    try:
        code = Supervisor(plan, Story(out, plan)).run()
    except StartError as error:
        report(out, str(error), code=error.code)
        code = Exit.FAILED
    sys.exit(code)


class Story:
    """What happens while the processes come up, and what the user is told."""

    def __init__(self, out: Terminal, plan: Plan) -> None:
        """Nothing is told yet."""
        self._out, self._plan = out, plan

    def serving(self, url: str) -> None:
        """Make the tools of the file current."""
        if not self._plan.definitions:
            return
        asked = {"url": url, "data": self._plan.settings["data"], "definitions": self._plan.definitions}
        command = [sys.executable, "-P", "-m", "ringback.cli.applying"]
        done = subprocess.run(command, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            said = done.stdout.strip() or f"exit code {done.returncode}"
            raise StartError(f"the tools of ringback.toml were not taken: {said.splitlines()[-1]}")

    def worker_command(self, url: str) -> list[str]:
        """`ringback worker` for this very server."""
        settings = self._plan.settings
        command = [sys.executable, "-P", "-m", "ringback.cli.attached", *([settings["app"]] if settings["app"] else [])]
        command += ["--server", url, "--data", settings["data"], "--pool", settings["pool"]]
        command += ["--slots", str(settings["slots"])] if settings["slots"] else []
        command += ["--drain-grace", str(self._plan.drain_s * WORKER_GRACE_SHARE), "--parent-pid", str(os.getpid())]
        return [*command, "--log-level", settings["log_level"], "--log-format", settings["log_format"]]

    def is_worker_attached(self, url: str) -> bool:
        """Whether the server knows a worker."""
        found = answer(url, "/readyz")
        return found is not None and found[0] == 200 and bool(json.loads(found[1]).get("workers"))

    def ready(self, url: str, pid: int) -> None:
        """Tell where it is, once."""
        places = self._plan.places
        facts = {"url": url, "pid": os.getpid(), "server_pid": pid, "data": str(places.data)}
        announce(self._out, facts | {"token_file": str(places.token), "log_level": self._plan.settings["log_level"]})


def announce(out: Terminal, facts: Mapping[str, Any]) -> None:
    """The address, where the token lies, how much is logged."""
    if out.json_mode:
        out.record(facts)
        return
    out.line(f"Ringback is up at {out.paint(str(facts['url']), 'bold')} (pid {facts['pid']})")
    out.line(f"  data   {facts['data']}")
    out.line(f"  token  {facts['token_file']}  (ringback token prints it)")
    out.line(f"  logs   {facts.get('log_file') or 'stderr'}, level {facts['log_level']}")
