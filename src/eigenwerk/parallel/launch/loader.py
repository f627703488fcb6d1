"""The process that loads the program and forks the ranks (`forks`); no torch here before a job names it.

    python -m eigenwerk.parallel.launch.loader 5

5: a socket, over which the job comes in and the numbers of the processes go out.  Whatever fails here is not told: the
parent starts the ranks otherwise then, and they tell it.
"""

import ctypes
import json
import os
import runpy
import signal
import socket
import sys
import time
import warnings
from importlib import import_module
from typing import Any

from eigenwerk.parallel.launch.launch import die_with_parent
from eigenwerk.parallel.launch.own_process import quick_imports

PR_SET_NAME = 15
"""From <sys/prctl.h>: how `ps` and `top` call the process."""

PATIENCE = 0.2
"""Seconds that threads which have been told to end get for it."""


def main(number: int) -> None:
    """Loads, forks, and ends at once; a fork comes back from here when it has become a rank and has done its work."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    line = socket.socket(fileno=number)
    job = _loaded(line)
    if job is None or not _alone():
        os._exit(1)
    numbers = []
    for rank in range(len(job["environs"])):
        pid = os.fork()
        if pid == 0:
            return _become(rank, job, line)
        numbers.append(pid)
    line.sendall(json.dumps(numbers).encode() + b"\n")
    os._exit(0)


def _loaded(line: socket.socket) -> dict[str, Any] | None:
    """The job, with its modules loaded; None if they cannot be."""
    try:
        die_with_parent()
        with line.makefile("rb") as words:
            job: dict[str, Any] = json.loads(words.readline())
        with quick_imports():
            for module in job["modules"]:
                import_module(module)
        return job
    except Exception:
        return None


def _alone() -> bool:
    """Whether a fork lacks no thread: those with which libraries compute end before a fork and begin again when they
    are needed; others go on here and would be missing there."""
    with warnings.catch_warnings(action="ignore"):  # Python's, of forks beside threads
        pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    limit = time.monotonic() + PATIENCE
    while (threads := len(os.listdir("/proc/self/task"))) > 1 and time.monotonic() < limit:
        time.sleep(0.01)
    return threads == 1


def _become(rank: int, job: dict[str, Any], line: socket.socket) -> None:
    """In a fork: what a Python of its own would find, from its name to its environment; then the command."""
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_NAME, f"rank {rank}".encode(), 0, 0, 0)
    if rank:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(job["errors"][rank - 1], 2)
        os.close(nothing)
    for end in job["errors"]:
        os.close(end)
    os.environ.update(job["environs"][rank])
    if not line.recv(1):  # the parent is gone
        os._exit(128 + signal.SIGTERM)
    line.close()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    module, *sys.argv[1:] = job["words"]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
