"""`python -m ringback.worker.script FILE`: an interpreter for one stored script, so that nothing of it can outlive its attempt.

A script is a file of Python. It is executed as a module when its attempt begins, so that every limit and every stop holds for its
top level, too. If it defines `main`, that is called with those of `ctx` and `args` that it takes, and returns the output.
"""

import inspect
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from .app import App, Tool
from .child import main
from .context import Context
from .schema import Signature

_TAKES_ANYTHING: Final = Signature(
    shape="plain", context_parameter="ctx", input_schema={"type": "object"}, _names=(), _decode=lambda encoded: None
)


def load_script(target: str) -> App:
    """An application whose only tool is the script in the file `target`, under the file's name."""
    file = Path(target)

    def run(ctx: Context) -> Any:
        return _call(file, ctx)

    app = App()
    app.tools[file.stem] = Tool(name=file.stem, function=run, signature=_TAKES_ANYTHING, definition={"profile": {}})
    return app


def _call(file: Path, ctx: Context) -> Any:
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    sys.modules[file.stem] = module  # dataclasses and pickle look there for what a script defines
    exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)  # noqa: S102 - that is what a script is for
    function = getattr(module, "main", None)
    if function is None:
        return None
    offered = {"ctx": ctx, "args": ctx.arguments}
    return function(**{name: offered[name] for name in inspect.signature(function).parameters if name in offered})


if __name__ == "__main__":
    sys.exit(main(load_script))
