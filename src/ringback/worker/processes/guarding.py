"""What the guardian process does: it starts the leaders of attempts and lets nothing outlive them.

The guardian is a child of its worker, in a session of its own, with one thread and no state on disk. It is a subreaper:
whatever an attempt's processes do (fork twice, change session, empty their environment), an orphan of theirs becomes
the guardian's child, and its tag says whose it was. From this follow the laws of this module:

* A dead leader stays unreaped until its whole tree is gone, so that its pid, its group and its session name nobody else.
* A tree is gone when the leader is dead and no living child of the guardian carries the ward's tag. That is exact:
  every living descendant hangs below the leader or below such a child.
* Only descendants of the guardian are ever signalled, each by a pidfd checked against its start moment.
* When the control socket ends, because the worker closed it or died, everything is killed, then the guardian exits.
* Signals of the terminal are none of its business; it takes them and goes on.

Messages in: spawn, signal, kill, prune. Messages out: ready, started, refused, exited, gone, pruned.
"""

import gc
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Final

from ringback.worker.processes import launch, procfs, wire

KILL_AGAIN_S: Final = 0.05
UNKILLABLE_AFTER_S: Final = 30.0
ATTEMPT_VARIABLE: Final = "RINGBACK_ATTEMPT"


class Ward:
    """The processes of one attempt."""

    def __init__(self, number: int, tag: int, mark: str, process: "subprocess.Popen[bytes]") -> None:
        """Begin to guard a leader that was just started."""
        self.number = number
        self.tag = tag
        self.mark = mark.encode()
        self.process = process
        self.pid = process.pid
        self.exit_code: int | None = None
        self.is_told = False
        self.kill_since: float | None = None
        self.is_pruned_only = False
        self.killed: set[tuple[int, int]] = set()
        self.immune = 0

    def has_exited(self) -> bool:
        """Whether the leader is dead; looks without reaping."""
        if self.exit_code is None:
            result = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if result is not None:
                self.exit_code = result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
        return self.exit_code is not None

    def reap(self) -> None:
        """Let the pid go."""
        os.waitpid(self.pid, 0)
        self.process.returncode = self.exit_code


class Guard:
    """The loop of the guardian."""

    def __init__(self, control: socket.socket, tag_base: int) -> None:
        """Answer to the worker at the other end of `control`."""
        self._control = control
        self._tag_base = tag_base
        self._wards: dict[int, Ward] = {}
        self._leaders: dict[int, Ward] = {}
        self._orphans: dict[int, Ward | None] = {}
        self._scanned: dict[int, procfs.Process] | None = None
        self._alarm, alarm_in = socket.socketpair()
        self._alarm.setblocking(False)
        alarm_in.setblocking(False)
        self._alarm_in = alarm_in
        signal.set_wakeup_fd(alarm_in.fileno(), warn_on_full_buffer=False)

    def run(self) -> None:
        """Serve until the worker is gone, then end everything."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._alarm, select.POLLIN)
        try:
            wire.send(self._control, {"op": "ready"})
            while True:
                hurried = any(ward.kill_since is not None for ward in self._wards.values())
                ready = {descriptor for descriptor, _ in poll.poll(KILL_AGAIN_S * 1000 if hurried else None)}
                if self._alarm.fileno() in ready:
                    self._hush()
                if self._control.fileno() in ready and not self._obey():
                    break
                self._tend()
        except (BrokenPipeError, ConnectionResetError):
            pass
        self._end()

    def _hush(self) -> None:
        try:
            self._alarm.recv(4096)
        except BlockingIOError:
            return

    def _obey(self) -> bool:
        received = wire.receive(self._control)
        if received is None:
            return False
        message, descriptors = received
        if message["op"] == "spawn":
            self._spawn(message, descriptors)
            return True
        ward = self._wards.get(message["id"])
        if ward is None:
            return True
        if message["op"] == "signal":
            for entry in self._members(ward):
                procfs.send_signal(entry, signal.Signals(message["signal"]))
                procfs.send_signal(entry, signal.SIGCONT)
        else:
            ward.is_pruned_only = message["op"] == "prune"
            ward.kill_since = ward.kill_since or time.monotonic()
        return True

    def _spawn(self, message: wire.Message, descriptors: list[int]) -> None:
        number: int = message["id"]
        argv: list[str] = message["argv"]
        environment: dict[str, str] = message["env"]
        tag = self._tag_base + number % launch.TAG_SPAN
        launch.set_tag(tag)
        try:
            streams = dict(zip(message["streams"], descriptors, strict=True))
            process = launch.launch(argv, environment, message["cwd"], message["limits"], streams)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = launch.describe(error, argv, message["cwd"])
            wire.send(self._control, {"op": "refused", "id": number, "reason": reason})
            return
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        ward = Ward(number, tag, environment.get(ATTEMPT_VARIABLE, ""), process)
        self._wards[number] = self._leaders[process.pid] = ward
        wire.send(self._control, {"op": "started", "id": number, "pid": process.pid})

    def _tend(self) -> None:
        """Look after every ward once: notice exits, kill what is to be killed, reap what is gone."""
        self._scanned = None
        # This order makes "no orphan" mean "nothing left": whoever died before the orphans are listed has already
        # handed its children on to the guardian.
        exited = [ward for ward in self._wards.values() if ward.has_exited()]
        while self._adopt():
            continue
        for ward in [ward for ward in self._wards.values() if ward.kill_since is not None]:
            self._kill(ward)
        for ward in exited:
            if ward.kill_since is None and ward.number in self._wards:
                self._see_off(ward)
        if not self._wards:
            for stray in filter(None, map(procfs.process, self._orphans)):
                procfs.send_signal(stray, signal.SIGKILL)

    def _adopt(self) -> bool:
        """Find out whose the living orphans are; True when a dead one was reaped, whose own children come next."""
        living: dict[int, Ward | None] = {}
        has_reaped = False
        for pid in procfs.own_children():
            if pid in self._leaders:
                continue
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG) is None:
                living[pid] = self._orphans[pid] if pid in self._orphans else self._owner(pid)
            else:
                has_reaped = True
        self._orphans = living
        return has_reaped

    def _owner(self, pid: int) -> Ward | None:
        tag = procfs.file_locks_limit(pid)
        mark = procfs.environment(pid).get(ATTEMPT_VARIABLE.encode())
        entry = procfs.process(pid)
        for ward in self._wards.values():
            if ward.tag == tag or (ward.mark and ward.mark == mark) or (entry and entry.session == ward.pid):
                return ward
        return None

    def _members(self, ward: Ward) -> list[procfs.Process]:
        """The living processes of the ward."""
        if self._scanned is None:
            self._scanned = procfs.scan()
        orphans = [pid for pid, owner in self._orphans.items() if owner is ward]
        return procfs.descendants(self._scanned, [ward.pid, *orphans])

    def _see_off(self, ward: Ward) -> None:
        """The leader is dead: say so once, and let go when nothing of the tree is left."""
        if ward not in self._orphans.values():
            self._let_go(ward)
        elif not ward.is_told:
            ward.is_told = True
            left = len(self._members(ward))
            wire.send(self._control, {"op": "exited", "id": ward.number, "code": ward.exit_code, "left": left})

    def _kill(self, ward: Ward) -> None:
        members = [entry for entry in self._members(ward) if not (ward.is_pruned_only and entry.pid == ward.pid)]
        ward.killed.update((entry.pid, entry.started) for entry in members)
        immune = sum(not procfs.send_signal(entry, signal.SIGKILL) for entry in members)
        assert ward.kill_since is not None
        is_hopeless = 0 < immune == len(members) or time.monotonic() - ward.kill_since > UNKILLABLE_AFTER_S
        if members and not is_hopeless:
            return
        ward.immune = len(members)
        if ward.is_pruned_only:
            ward.kill_since = None
            wire.send(self._control, {"op": "pruned", "id": ward.number, "killed": len(ward.killed)})
            ward.killed.clear()
        elif ward.exit_code is not None and (is_hopeless or ward not in self._orphans.values()):
            self._let_go(ward)
        elif is_hopeless and members:
            ward.kill_since = None
            wire.send(self._control, {"op": "gone", "id": ward.number, "code": None, "immune": ward.immune})

    def _let_go(self, ward: Ward) -> None:
        ward.reap()
        del self._wards[ward.number], self._leaders[ward.pid]
        message = {"op": "gone", "id": ward.number, "code": ward.exit_code, "immune": ward.immune}
        wire.send(self._control, message)

    def _end(self) -> None:
        """Kill every descendant until none is left that may be killed."""
        self._control.close()
        own = os.getpid()
        give_up_at = time.monotonic() + 2 * UNKILLABLE_AFTER_S
        while time.monotonic() < give_up_at:
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            below = [entry for entry in procfs.descendants(procfs.scan(), [own]) if entry.pid != own]
            may_kill = [procfs.send_signal(entry, signal.SIGKILL) for entry in below]
            if below and not any(may_kill):
                return
            select.select([self._alarm], [], [], KILL_AGAIN_S)
            self._hush()


def main() -> None:
    """Entry of the guardian process: arguments are the control descriptor and the first tag."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    launch.become_subreaper()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    control = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(control.fileno(), False)
    gc.collect()
    gc.freeze()
    Guard(control, int(sys.argv[2])).run()
