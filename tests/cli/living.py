"""A real server and worker for the tests of the doors: `ringback up` on a scratch folder, with tools that end in each way."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.command import Ran, environment, ringback

TOOLS = """
[tools.say]
description = "Say something, and end with a code."
command = ["{python}", "-c", "import sys; print(sys.argv[2]); sys.exit(int(sys.argv[3]))", "--", "{text}", "{code}"]
[tools.say.input]
text = "string"
code = { type = "integer", default = 0 }

[tools.wait]
description = "Run until it is stopped."
command = ["{python}", "-u", "-c", "import signal; print('waiting'); signal.pause()"]

[tools.flood]
description = "Write lines with colours and redrawings."
command = ["{python}", "-c", '''
print("\\u001b[32mgreen\\u001b[0m")
print("1%\\r50%\\r100%")
for n in range(2000): print(n)
''']
"""


@dataclass(frozen=True, slots=True)
class Living:
    """A running `ringback up`."""

    data: Path
    url: str
    process: subprocess.Popen[str]
    said: dict[str, Any]

    def __call__(self, *words: str, **variables: str) -> Ran:
        return ringback(self.data, *words, env=variables)

    def start(self, *words: str) -> str:
        """Start a job; its id."""
        done = self("start", *words)
        assert done.code == 0, done.err
        return done.out.strip()


@contextmanager
def living(folder: Path, *options: str, tools: str = TOOLS, within_s: float = 60.0) -> Iterator[Living]:
    """Up on a free port until the block ends; then drained."""
    folder.mkdir(exist_ok=True)
    (folder / "ringback.toml").write_text(tools.replace("{python}", sys.executable))
    data = folder / "data"
    command = [sys.executable, "-m", "ringback", "up", "--json", "--port", "0", "--until-stdin-closes", *options]
    with (folder / "stderr").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(data),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (folder / "stderr").read_text()
        said = json.loads(line)
        yield Living(data, said["url"], process, said)
    finally:
        process.stdin.close()
        process.wait(within_s)
        process.stdout.close()
