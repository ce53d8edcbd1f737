"""The application that the function runtime's tests load: one tool for each thing that user code may do."""

import asyncio
import contextlib
import ctypes
import dataclasses
import datetime
import decimal
import enum
import itertools
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Annotated, Any

import msgspec

import ringback
from ringback import App, Cancelled, Context

app = App(secrets=["SECRET_TOKEN"])
FOREVER_S = 3600.0
calls = itertools.count(1)
ballast: list[bytearray] = []

logging.basicConfig(level=logging.INFO)
logging.getLogger("import").info("logged while importing")
print("printed while importing")


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Named(msgspec.Struct, rename="camel"):
    full_name: str


class Stubborn:
    def __reduce__(self) -> str:
        raise RuntimeError("no pickling")

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __str__(self) -> str:
        raise RuntimeError("no str")


def _itself() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def _open_file() -> Any:
    return pathlib.Path("/dev/null").open()


RESULTS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "number": lambda: 2512292042121000001,
    "huge": lambda: 2**200,
    "float": lambda: 1.5,
    "text": lambda: "é\0",
    "bytes": lambda: b"ab\xff",
    "datetime": lambda: datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
    "date": lambda: datetime.date(2026, 1, 2),
    "duration": lambda: datetime.timedelta(seconds=90),
    "decimal": lambda: decimal.Decimal("1.10"),
    "uuid": lambda: uuid.UUID(int=1),
    "path": lambda: pathlib.PurePosixPath("/a/b"),
    "enum": lambda: {"colour": Colour.RED},
    "set": lambda: {3, 1, 2},
    "tuple": lambda: (1, "a"),
    "dataclass": lambda: Point(1),
    "struct": lambda: Named("Ada"),
    "lambda": lambda: lambda: None,
    "file": _open_file,
    "iterator": lambda: {"a": iter([])},
    "object": lambda: [object()],
    "stubborn": lambda: {"a": {"b": Stubborn()}},
    "long": lambda: "x" * 100_000_000,
    "itself": _itself,
    "nan": lambda: {"a": [1.0, float("nan")]},
    "surrogate": lambda: {"a": "x\ud83d"},
    "key": lambda: {(1, 2): 3},
    "class": lambda: Point,
}


@app.tool
def noop() -> None: ...


@app.tool
def result(kind: str) -> Any:
    return RESULTS[kind]()


@app.tool
def echo(value: Any) -> Any:
    return value


@app.tool
async def aecho(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


@app.tool
def whoami() -> dict[str, int]:
    return {"pid": os.getpid(), "call": next(calls)}


@app.tool
def typed(
    point: Point,
    colour: Colour = Colour.RED,
    at: datetime.datetime | None = None,
    count: Annotated[int, "how many"] = 3,
) -> Any:
    assert isinstance(point, Point)
    assert isinstance(colour, Colour)
    return {"x": point.x, "colour": colour, "at": at, "count": count}


@app.tool
def about(ctx: Context, n: int = 0) -> Any:
    return {
        "run": ctx.run_id,
        "job": ctx.job_id,
        "attempt": ctx.attempt_no,
        "token": ctx.idempotency_token,
        "arguments": ctx.arguments,
        "deadline": ctx.deadline,
        "checkpoint": ctx.last_checkpoint,
        "cancelled": ctx.cancelled,
    }


@app.tool
def tells(ctx: Context) -> str:
    ctx.progress(1, 3, "one")
    ctx.page(range(2))
    ctx.checkpoint({"at": 2})
    ctx.log("a line")
    ctx.summary = "told"
    return "fine"


@app.tool
def counts(ctx: Context, n: int) -> None:
    for i in range(1, n + 1):
        ctx.progress(i, n)


@app.tool
def pages(n: int) -> Generator[int, None, str]:
    yield from range(n)
    return "all"


@app.tool
async def apages(n: int) -> AsyncIterator[int]:
    for i in range(n):
        yield i


@app.tool
def many_items(ctx: Context, n: int) -> None:
    ctx.page("x" * 1000 for _ in range(n))


@app.tool
def parent(ctx: Context, tool: str) -> str:
    return ctx.start(tool, x=1)


@app.tool
async def aparent(ctx: Context) -> list[str]:
    return await asyncio.gather(*(ctx.start_async("child", x=i) for i in range(3)))


# --- ways to fail ---


@app.tool
def raises(message: str) -> None:
    raise ValueError(message)


@app.tool
def raises_unprintable() -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no str")

    raise OddError


@app.tool
def gives_up() -> None:
    raise ringback.Fail("there is no such page", retryable=False, detail={"code": 404})


@app.tool
def leaves(how: str) -> None:
    match how:
        case "sys":
            sys.exit(3)
        case "os":
            os._exit(3)
        case "segv":
            os.kill(os.getpid(), signal.SIGSEGV)
        case _:
            os.fork()


@app.tool
async def aexits() -> None:
    sys.exit("over")


# --- output ---


@app.tool
def prints(text: str) -> None:
    print(text)


@app.tool
def prints_every_way() -> None:
    print("print")
    os.write(1, b"write\n")
    subprocess.run(["echo", "subprocess"], check=True)
    os.system("echo system")
    logging.getLogger("x").info("logging")
    ctypes.CDLL(None).printf(b"printf\n")
    sys.stderr.write("unfinished")


@app.tool
def prints_much(size: int) -> None:
    sys.stdout.write("y" * size + "\nend\n")


@app.tool
def hides_stdout() -> None:
    sys.stdout = pathlib.Path("/dev/null").open("w")  # noqa: SIM115 - as users write it


@app.tool
def prints_secret() -> str:
    secret = os.environ["SECRET_TOKEN"]
    sys.stdout.write(secret[:5])
    sys.stdout.flush()
    sys.stdout.write(secret[5:] + "\n")
    return f"it is {secret}"


# --- what is left behind ---


@app.tool
def loses_stdout(how: str) -> int:
    if how == "close":
        os.close(1)
    else:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
    return os.getpid()


@app.tool
def leaves_process(detached: bool = False) -> int:
    return subprocess.Popen(["sleep", "600"], start_new_session=detached).pid


@app.tool
def runs_process() -> int:
    return subprocess.run(["true"], check=True).returncode


@app.tool
def leaves_thread(daemon: bool) -> int:
    threading.Thread(target=threading.Event().wait, daemon=daemon).start()
    return os.getpid()


@app.tool
async def leaves_task() -> int:
    asyncio.get_running_loop().create_task(asyncio.sleep(FOREVER_S))
    return await asyncio.to_thread(os.getpid)


@app.tool
def grows(size: int) -> int:
    ballast.append(bytearray(b"x" * size))
    return os.getpid()


# --- stopping ---


@app.tool
def loops(ctx: Context, cleans_up: bool = False) -> None:
    ctx.progress(message="started")
    try:
        while True:
            ctx.raise_if_cancelled()
    except Cancelled:
        if not cleans_up:
            raise


@app.tool
async def waits(ctx: Context) -> None:
    ctx.progress(message="started")
    try:
        await asyncio.sleep(FOREVER_S)
    finally:
        print("cleaned up")


@app.tool
async def waits_stubbornly(ctx: Context) -> None:
    ctx.progress(message="started")
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(FOREVER_S)


@app.tool
def sleeps(ctx: Context) -> None:
    ctx.progress(message="started")
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    time.sleep(FOREVER_S)


@app.tool
async def blocks_loop(ctx: Context) -> None:
    ctx.progress(message="started")
    time.sleep(FOREVER_S)  # noqa: ASYNC251 - as users write it


@app.tool
def holds_interpreter(ctx: Context) -> None:
    ctx.progress(message="started")
    re.match(r"(a+)+$", "a" * 60 + "b")


@app.tool
def generates_forever(ctx: Context) -> Iterator[int]:
    ctx.progress(message="started")
    yield from itertools.count()


@app.tool
def asks_forever(ctx: Context) -> None:
    ctx.progress(message="started")
    ctx.start("never answered")


@app.tool
def naps(seconds: float) -> None:
    time.sleep(seconds)
