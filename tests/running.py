"""`eigenwerk run` as a process, in the foreground and in the background, with the processes of its ranks."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from eigenwerk.io.hdf5.hdf5_state import read_state
from warm_start import PIPE, RANK_NAME, WarmProcess, warm_run

ENDLESS = {"EDIFF": "1E-30", "NELM": 3000}
"""Tags of a run that does not end by itself."""

WRITTEN = {
    "vasprun.xml", "OUTCAR", "OSZICAR", "CONTCAR", "XDATCAR", "EIGENVAL", "IBZKPT", "DOSCAR", "CHGCAR", "CHG",
    "vaspout.h5", "WAVECAR", "eigenwerk.h5", "eigenwerk-trace.json",
}  # fmt: skip
"""Files that a finished run leaves if INCAR asks for nothing special."""

EIGENWERK = [sys.executable, "-m", "eigenwerk.cli.main"]

LIMIT = 30
"""Seconds within which a run must have ended: the promise of the program."""

START = 180
"""Seconds for ranks to load PyTorch and to begin, on a busy machine."""


class Run:
    """A run in the background, with what it says."""

    def __init__(self, *command, cwd=None, cold=False, **environ):
        """cold: a Python of its own from the start, not one that has loaded everything already."""
        begin = start_warm if command[0] == sys.executable and not cold else start_cold
        self.process = begin(command, cwd, os.environ | environ)
        self.ranks, self.lines = [], []

    def wait_for_step(self, number):
        """Until the table has this step; from then on `ranks` are the processes of the ranks."""
        for line in self.process.stdout:
            self.lines.append(line)
            if steps_of(line) == [number]:
                self.ranks = ranks_below(self.process.pid)
                return
        raise AssertionError("".join(self.lines) + self.process.stderr.read())

    def end(self, seconds=LIMIT):
        """Exit code and words; nothing may be left."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        finally:
            left = still_there(self.ranks)
            for number in left:
                os.kill(number, signal.SIGKILL)
        assert left == [], "processes were left behind"
        return self.process.returncode, "".join(self.lines) + out, err


def start_warm(command, cwd, environ):
    return WarmProcess(command[1:], cwd=cwd, env=environ, stdout=PIPE, stderr=PIPE)


def start_cold(command, cwd, environ):
    # a shell that starts the tests in the background lets its children ignore SIGINT; these must not
    return subprocess.Popen(
        command, cwd=cwd, text=True, stdout=PIPE, stderr=PIPE, env=environ,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def steps_of(text):
    """The numbers in the first column of the table."""
    return [int(line[:5]) for line in text.splitlines() if line[:5].strip().isdigit() and line[5:25].strip()]


def ranks_below(parent):
    """The processes of eigenwerk below another, by rank."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "environ").read_bytes().split(b"\0")
            command = (path / "cmdline").read_bytes()
            name = (path / "comm").read_text()
            ancestors = list(ancestors_of(int(path.name)))
        except OSError:
            continue
        named = dict(word.split(b"=", 1) for word in words if b"=" in word)
        rank = named.get(b"OMPI_COMM_WORLD_RANK", named.get(b"RANK"))
        if parent in ancestors and rank is not None and b"eigenwerk.cli.main" in command:
            found[int(rank)] = int(path.name)
        elif parent in ancestors and name.startswith(RANK_NAME):
            found[int(name.removeprefix(RANK_NAME))] = int(path.name)
    return [found[rank] for rank in sorted(found)]


def ancestors_of(number):
    """The parent of a process, its parent, ..."""
    while number > 1:
        number = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
        yield number


def still_there(numbers, seconds=5):
    """Those that still run so many seconds later; returns as soon as there is none."""
    limit = time.monotonic() + seconds
    while (left := [number for number in numbers if alive(number)]) and time.monotonic() < limit:
        time.sleep(0.05)
    return left


def alive(number):
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def run(*words, **environ):
    """A whole run; the finished process."""
    return warm_run([*EIGENWERK[1:], "run", *words], timeout=START, env=os.environ | environ)


def status(path):
    """What the saved state in a folder says of the run."""
    return read_state(path / "eigenwerk.h5", only=["status"])["status"]["words"]
