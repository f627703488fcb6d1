"""The one way to read an HDF5 file: in another process, whose crash, hang or hunger is a sentence here.

A fork of `hdf5_child` looks at the file through a descriptor that it is given, with a bound on processor time and
memory, and tells values; large arrays it tells by their place, and they are read here.  So HDF5 never sees a file in
the process that computes, whatever somebody has put into it.  One such process is kept for the next files.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Collection
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np

from eigenwerk.errors import EigenwerkError
from eigenwerk.io.hdf5.hdf5_answer import LARGEST_TEXT, LENGTHS, Answer, StoredArray
from eigenwerk.io.hdf5.hdf5_tree import DamageFound

CHILD = "eigenwerk.io.hdf5.hdf5_child"

SECONDS, SPEED = 2, 2e7
"""Of a processor for any file, and bytes per second beyond that."""

PATIENCE = 20
"""So many times longer by the clock: the machine may be busy, the disk far away."""


def read_guarded(file: BinaryIO, job: str, only: Collection[str] | None = None) -> Any:
    """What `hdf5_child` finds in an open file: `header`, `tree` (of a state) or `datasets`, all or only some names.

    Raises DamageFound, in words, whatever is wrong with it; EigenwerkError if no process can be started.
    """
    question = {"job": job, "only": None if only is None else sorted(only)}
    with _kept.lock:
        try:
            with suppress(_EndedIdle):
                return _kept.get().ask(file, question)
            _kept.end()
            return _kept.get().ask(file, question)
        except BaseException:
            if _kept.child is not None and not _kept.child.silent:
                _kept.end()  # it is in the middle of something
            raise


class _EndedIdle(Exception):
    """The process had nothing to do, and ended just before the question."""


class _Child:
    """The process and the line to it."""

    def __init__(self) -> None:
        self.owner, self.silent = os.getpid(), True
        self.line, theirs = socket.socketpair()
        environ = {name: word for name, word in os.environ.items() if not name.startswith("HDF5_")}
        # our own modules, and none of the current folder; filters of the user's own are not loaded
        environ |= {"PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path)), "HDF5_PLUGIN_PRELOAD": "::"}
        environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        try:
            with theirs:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-m", CHILD, str(theirs.fileno())], env=environ, cwd="/",
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    start_new_session=True, pass_fds=[theirs.fileno()],
                )  # fmt: skip
        except OSError as error:
            self.line.close()
            raise EigenwerkError(
                f"cannot start the process that reads HDF5 files ({error.strerror}). Raise the limits on processes and "
                "memory (ulimit -u, ulimit -v), or end other programs."
            ) from error

    def alive(self) -> bool:
        """Whether it is this process's own and waits for questions."""
        return self.owner == os.getpid() and self.process.poll() is None

    def ask(self, file: BinaryIO, question: dict[str, Any]) -> Any:
        """Its answer."""
        size = os.fstat(file.fileno()).st_size
        seconds = int(SECONDS + size / SPEED)
        self.line.settimeout(PATIENCE * seconds)
        text, self.silent = json.dumps(question).encode(), False
        try:
            socket.send_fds(self.line, [LENGTHS.pack(len(text), seconds) + text], [file.fileno()])
            length, rest = LENGTHS.unpack(self._exactly(LENGTHS.size))
            if length < 0:
                self.silent = True
                raise DamageFound(_death(rest, seconds))
            if length > LARGEST_TEXT:
                raise DamageFound(f"{length / 1e6:.0f} MB of values that are no arrays")
            answer = Answer(bytes(self._exactly(length)))
            if rest != sum(one.nbytes for one in answer.sent):
                raise DamageFound("arrays of another size than it says")
            arrays = [self._array(one) for one in answer.sent]
            self.silent = True
        except TimeoutError:
            raise DamageFound(f"reading it did not end within {PATIENCE * seconds} seconds") from None
        except (OSError, EOFError):
            raise self._gone() from None
        _refuse_more_than(size, answer.stored)
        try:
            found = answer.value(arrays, file.fileno())
        except EOFError as error:
            raise DamageFound(str(error)) from None
        if "wrong" in found:
            raise DamageFound(found["wrong"])
        return found["found"]

    def _array(self, one: StoredArray) -> np.ndarray:
        found: np.ndarray = np.empty(one.shape, np.dtype(one.dtype))
        self._fill(found.reshape(-1).view(np.uint8).data)
        return found

    def _exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        self._fill(memoryview(data))
        return data

    def _fill(self, place: memoryview) -> None:
        done = 0
        while done < len(place):
            count = self.line.recv_into(place[done:])
            if not count:
                raise EOFError
            done += count

    def _gone(self) -> Exception:
        """Why the process has ended."""
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return DamageFound("the process that reads it does not answer")
        return _EndedIdle() if code == 0 else EigenwerkError(
            f"the process that reads HDF5 files ended with code {code}. Raise the limits on memory, processes and open "
            "files (ulimit -v, -u, -n); if h5py is missing or broken, install it again (pip install h5py)."
        )  # fmt: skip

    def end(self) -> None:
        """No more questions."""
        self.line.close()
        if self.owner != os.getpid():  # a fork's copy: the process is its parent's
            self.process.returncode = 0
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # with the fork that reads
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5)


def _death(code: int, seconds: int) -> str:
    """How the fork ended that read a file."""
    if code == -signal.SIGPROF:
        return f"reading it did not end within {seconds} seconds of a processor"
    if code < 0:
        return f"HDF5 crashed on it, signal {-code}"
    return f"reading it ended with code {code}"


def _refuse_more_than(size: int, stored: list[StoredArray]) -> None:
    """Raise DamageFound for arrays that together have more bytes than their file, or than the machine has memory."""
    total = sum(one.nbytes for one in stored)
    if total > size or any(one.offset + one.nbytes > size for one in stored):
        raise DamageFound(f"arrays of {total} bytes in a file of {size}")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if total > memory:
        raise DamageFound(f"{total / 1e9:.1f} GB of arrays, and this machine has {memory / 1e9:.1f} GB of memory")


class _Kept:
    """The process that is there for the next file, and a lock: one question at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: _Child | None = None

    def get(self) -> _Child:
        """Started if there is none."""
        if self.child is not None and not self.child.alive():
            self.end()
        if self.child is None:
            self.child = _Child()
        return self.child

    def end(self) -> None:
        """None any more."""
        child, self.child = self.child, None
        if child is not None:
            child.end()

    def forget(self) -> None:
        """In a fork: the process is its parent's, and a thread that is not there may have had the lock."""
        self.lock = threading.Lock()
        self.end()


_kept = _Kept()
atexit.register(_kept.end)
os.register_at_fork(after_in_child=_kept.forget)
