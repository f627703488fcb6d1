"""Ranks as forks of one process that has loaded the program, so that they have its memory in common (no torch here).

Python, PyTorch and eigenwerk take some 200 MB of a process before it has anything to do.  One process (`loader`) loads
them, forks all ranks and ends; the parent adopts the ranks and looks after them as if it had started them itself.
Where that does not work the caller starts rank after rank, each with a Python of its own.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

PR_SET_CHILD_SUBREAPER = 36
"""From <sys/prctl.h>: who has it adopts children of its children that are left alone."""

LOADER = "eigenwerk.parallel.launch.loader"


def can_fork() -> bool:
    """Whether ranks may be forks; they are where the loader finds that nothing stands against it."""
    return sys.platform.startswith("linux")


class Loader:
    """The process that loads `modules` and forks the ranks; `process` while it runs.

    command: of a rank, [python, ..., "-m", module, ...]; environs: of all ranks.
    """

    def __init__(self, command: Sequence[str], environs: Sequence[dict[str, str]], modules: Sequence[str]) -> None:
        first, pipes = environs[0], [os.pipe() for _ in environs[1:]]
        self._errors, ends = [pipe[0] for pipe in pipes], [pipe[1] for pipe in pipes]
        other = [{name: word for name, word in one.items() if first.get(name) != word} for one in environs]
        words = list(command[command.index("-m") + 1 :])
        safe = [word for word in command[: command.index("-m")] if word == "-P"]  # nothing of the current folder
        job = {"modules": list(modules), "words": words, "environs": other, "errors": ends}
        self._line, theirs = socket.socketpair()
        adopt_orphans(True)
        with theirs, blocked(signal.SIGINT):  # until it has said what a Ctrl-C is to do
            self.process = subprocess.Popen(
                [command[0], *safe, "-m", LOADER, str(theirs.fileno())], env=first, text=True,
                stdin=subprocess.DEVNULL, start_new_session=True, pass_fds=[theirs.fileno(), *ends],
            )  # fmt: skip
        for end in ends:
            os.close(end)
        with suppress(OSError):  # it has ended already
            self._line.sendall(json.dumps(job).encode() + b"\n")

    def ranks(self) -> "list[ForkedRank]":
        """All ranks, which wait for `go`, once they are children of this process; none if it did not work."""
        code = self.process.wait()
        adopt_orphans(False)
        numbers = []
        if code == 0:
            with self._line.makefile("rb") as told:
                numbers = json.loads(told.readline())
        if not numbers or not all(map(_is_child, numbers)):
            self._line.close()  # forks that wait for it end
            for end in self._errors:
                os.close(end)
            return []
        errors = [None, *(os.fdopen(end, errors="replace") for end in self._errors)]
        return [ForkedRank(*both) for both in zip(numbers, errors, strict=True)]

    def go(self) -> None:
        """Let the ranks begin."""
        with self._line, suppress(OSError):  # they may have been killed
            self._line.sendall(b"\0" * (1 + len(self._errors)))


class ForkedRank:
    """A child that this process has not started itself, with what is needed of `subprocess.Popen`."""

    def __init__(self, pid: int, stderr: IO[str] | None) -> None:
        self.pid, self.stderr = pid, stderr
        self.returncode: int | None = None
        self._reaping = threading.Lock()

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        if self.returncode is None and self._reaping.acquire(blocking=False):  # a signal handler must not wait here
            with suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
            self._reaping.release()
        return self.returncode

    def wait(self) -> int:
        """The exit code, when it has ended."""
        while (code := self.poll()) is None:
            with suppress(ChildProcessError):  # another thread has just seen it
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        return code

    def send_signal(self, number: int) -> None:
        """A signal, while it runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


@contextmanager
def blocked(number: int) -> Iterator[None]:
    """Inside, a signal waits, also for processes that are started."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _is_child(pid: int) -> bool:
    """Whether this process may wait for that one, which may have ended."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def adopt_orphans(wanted: bool) -> None:
    """Whether children of this process's children become its own when their parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)
