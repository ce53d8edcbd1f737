"""The machine under the figures: its cores, its quiet, the memory of a process, and what the results must name."""

import os
import platform
import shutil
import subprocess
import time
from importlib import metadata
from pathlib import Path

import apsw

ROOT = Path(__file__).resolve().parent.parent
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, CLIENT_CORE = CORES[0], CORES[-1]
BUSY_MAX = 0.08
IS_PINNED = len(CORES) > 1 and shutil.which("taskset") is not None
_PACKAGES = ("apsw", "msgspec", "uvicorn", "uvloop", "httptools", "starlette")


def pinned(core: int) -> list[str]:
    """Words before a command that keep it on one core, where there are two and `taskset`."""
    return ["taskset", "-c", str(core)] if IS_PINNED else []


def stay_on(core: int) -> None:
    """Keep this process on one core."""
    if IS_PINNED:
        os.sched_setaffinity(0, {core})


def wait_for_quiet(*, busy_max: float = BUSY_MAX, patience_s: float = 5.0) -> float:
    """Wait until the machine has little else to do; the busy share of the last look."""
    give_up = time.monotonic() + patience_s
    while True:
        before = _ticks()
        time.sleep(0.5)
        after = _ticks()
        busy = 1 - (after[1] - before[1]) / max(1, after[0] - before[0])
        if busy <= busy_max or time.monotonic() > give_up:
            return busy


def _ticks() -> tuple[int, int]:
    """All and idle ticks since the start of the machine."""
    values = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]]
    return sum(values), values[3] + values[4]


def resident(pid: int) -> int:
    """Bytes of memory of a process (VmRSS)."""
    return _status(pid, "VmRSS")


def peak(pid: int) -> int:
    """The most that it was since `forget_peak` (VmHWM)."""
    return _status(pid, "VmHWM")


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    return 0


def children(pid: int) -> list[int]:
    """The children of a process."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if stat[1] == str(pid):
                found.append(int(folder.name))
    return found


def words_of(pid: int) -> str:
    """Its command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def open_files(count: int) -> int:
    """Raise our limit of open files as far as we may, towards `count`; what it is then."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = count if hard == resource.RLIM_INFINITY else min(count, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def flush_microseconds(folder: Path, count: int = 300) -> float:
    """How long this disk takes for one fdatasync of a small append, median: the floor under one run in flight."""
    taken = []
    path = folder / "flush"
    with path.open("wb", buffering=0) as file:
        for _ in range(count):
            file.write(b"x" * 4096)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - began)
    path.unlink()
    return sorted(taken)[count // 2] * 1e6


def description() -> dict[str, str]:
    """What the figures were taken on and of."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in _PACKAGES)
    return {
        "commit": _git("rev-parse", "--short=12", "HEAD")
        + (" with local changes" if _git("status", "--porcelain", "src") else ""),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": f"{len(CORES)} cores ({_processor()}), {_memory_gb()} GB, {_system()}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "SQLite": apsw.sqlite_lib_version(),
        "packages": versions,
    }


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gb() -> int:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def _system() -> str:
    name = (
        platform.freedesktop_os_release().get("PRETTY_NAME", "Linux") if Path("/etc/os-release").exists() else "Linux"
    )
    return f"{name}, kernel {platform.release()}"
