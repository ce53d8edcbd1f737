"""The example runtime under Node, as a process that tests may stop, suspend and kill."""

from __future__ import annotations

import os
from pathlib import Path

from tests.real.cache import ROOT
from tests.real.packages import node_folder
from tests.reliability.installation import Installation
from tests.reliability.processes import Process

PROGRAM = ROOT / "examples" / "runtime.mjs"
TOOL = "count_up"


def start(here: Installation, name: str) -> Process:
    """One runtime; it attaches by itself."""
    token = (here.data / "worker.token").read_text(encoding="ascii").strip()
    env = {"PATH": os.environ["PATH"], "RINGBACK_URL": here.url, "RINGBACK_TOKEN": token}
    command = [str(node_folder() / "node"), str(PROGRAM)]
    return Process(name, command, log=here.folder / f"{name}.log", env=env, cwd=Path(here.work))
