"""Several ranks on this machine, started and looked after by one parent (no torch here).

The parent computes nothing.  It passes signals on, shows what the ranks say (rank 0 as it is, errors of the others with
their rank in front), and when a rank dies it names it and ends the others.  Ranks end by themselves when the parent
is gone, even by kill -9 (`die_with_parent`, called by each rank).
"""

import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from eigenwerk.errors import ConvergenceError, EigenwerkError
from eigenwerk.parallel.launch.environment import OWN_FOLDER, OWN_MARK
from eigenwerk.parallel.launch.forks import ForkedRank, Loader, can_fork
from eigenwerk.parallel.launch.secret import temporary_folder
from eigenwerk.parallel.watch.coordinator import NO_STEP

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that the parent hands to every rank."""

PATIENCE = 10.0
"""Seconds that the other ranks get to end by themselves after one has died; they know of it at once."""

LAST_WARNING = 3
"""So many Ctrl-C kill the ranks, whatever they are doing."""

WORDS_FILE = "words.json"
"""In the folder of the ranks: what the parent has read for them."""

PR_SET_PDEATHSIG = 1
"""From <sys/prctl.h>."""

Say = Callable[[str], None]


def run_ranks(
    command: Sequence[str], ranks: int, threads: int, say: Say, words: Any = None,
    saved: Callable[[], str] = lambda: "", modules: Sequence[str] = (),
) -> int:  # fmt: skip
    """Start the command `ranks` times, as ranks 0 ... ranks-1 of one run, and wait; returns the exit code of the run.

    threads: OMP_NUM_THREADS of each rank, unless the user has set it.  say: how the parent speaks to the user.  words:
    what rank 0 is given (`given_words`), that JSON can hold.  saved: what the run has saved so far, a sentence, or
    empty.  modules: what every rank loads and may have in common with the others (`forks`); they must ask
    no GPU.  The command is Python with -m then.
    """
    children = _RankProcesses(say, saved)
    meeting = temporary_folder()
    with _signals(children.forward), meeting as folder:
        try:
            (Path(folder) / WORDS_FILE).write_text(json.dumps(words))
            children.start(command, ranks, threads, folder, modules)
            return children.wait()
        finally:
            children.kill()


def rank_command(arguments: Sequence[str]) -> list[str]:
    """The command line of a rank: this Python and eigenwerk, whatever is called that on PATH."""
    return [sys.executable, "-P", "-m", "eigenwerk.cli.entry", *arguments]


def die_with_parent(environ: Mapping[str, str] = os.environ) -> None:
    """Called by each rank first of all: get SIGTERM when the parent ends; end now if it has ended already."""
    parent = environ.get(OWN_MARK, "")
    if not parent.isdigit():
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != int(parent):
        raise SystemExit(128 + signal.SIGTERM)


def given_words(environ: Mapping[str, str] = os.environ) -> Any:
    """What the parent has given to the ranks; None without one."""
    folder = environ.get(OWN_FOLDER)
    return None if not folder else json.loads((Path(folder) / WORDS_FILE).read_text())


def rank_environment(rank: int, ranks: int, threads: int, folder: str) -> dict[str, str]:
    """The environment of a rank: torchrun's variables, so that `find_launch` understands them; nobody waits at a port,
    the ranks meet in a folder of their own."""
    words = dict(os.environ)
    words.setdefault("OMP_NUM_THREADS", str(threads))
    words.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(ranks))
    words.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0", OWN_MARK: str(os.getpid()), OWN_FOLDER: folder})
    return words


@dataclass
class _RankProcess:
    """A started rank; code: None while it runs; killed: by us, so that its code says nothing."""

    number: int
    process: "subprocess.Popen[str] | ForkedRank"
    code: int | None = None
    killed: bool = False


@dataclass
class _RankProcesses:
    """The ranks of this run, and what happened to them."""

    say: Say
    saved: Callable[[], str]
    ranks: list[_RankProcess] = field(default_factory=list)
    signals: list[int] = field(default_factory=list)
    ended: "queue.SimpleQueue[_RankProcess]" = field(default_factory=queue.SimpleQueue)
    relays: list[threading.Thread] = field(default_factory=list)
    loader: Loader | None = None

    def start(self, command: Sequence[str], ranks: int, threads: int, folder: str, modules: Sequence[str]) -> None:
        """Start all."""
        environs = [rank_environment(rank, ranks, threads, folder) for rank in range(ranks)]
        if modules and can_fork() and self._start_forks(command, environs, modules):
            return
        for rank, environ in enumerate(environs):
            self._start_one(command, rank, environ)

    def _start_forks(self, command: Sequence[str], environs: list[dict[str, str]], modules: Sequence[str]) -> bool:
        """Start all as forks of one process; False if that does not work."""
        self.loader = Loader(command, environs, modules)
        forked = self.loader.ranks()
        if not forked and not self.signals:
            return False
        if not forked:  # stopped before there were ranks: its end is that of the run
            self._look_after(0, self.loader.process)
        for rank, process in enumerate(forked):
            self._look_after(rank, process)
        for number in self.signals:  # which came when the loader had ended
            for rank_process in self.ranks:
                rank_process.process.send_signal(number)
        self.loader.go()
        return True

    def _start_one(self, command: Sequence[str], rank: int, environ: dict[str, str]) -> None:
        first = rank == 0
        # A session of its own: Ctrl-C at the terminal reaches the parent alone, which passes it on once.
        process = subprocess.Popen(
            command, env=environ, text=True, errors="replace", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=None if first else subprocess.DEVNULL,
            stderr=None if first else subprocess.PIPE,
        )  # fmt: skip
        self._look_after(rank, process)

    def _look_after(self, rank: int, process: "subprocess.Popen[str] | ForkedRank") -> None:
        """Wait for a rank, and show its errors, beside the rest."""
        self.ranks.append(_RankProcess(rank, process))
        threading.Thread(target=self._watch, args=(self.ranks[-1],), daemon=True).start()
        if process.stderr is not None:
            self.relays.append(threading.Thread(target=relay_stderr, args=(rank, process.stderr), daemon=True))
            self.relays[-1].start()

    def _watch(self, rank: _RankProcess) -> None:
        code = rank.process.wait()
        rank.code = code
        self.ended.put(rank)

    def wait(self) -> int:
        """Until all have ended; the exit code of the run."""
        first, deadline = None, None
        for _ in range(len(self.ranks)):
            rank = self._next(deadline)
            if rank.code and not rank.killed:
                first = rank if first is None or (_was_killed(rank) and not _was_killed(first)) else first
                deadline = deadline or time.monotonic() + PATIENCE
        for relay in self.relays:
            relay.join(timeout=1.0)
        return 0 if first is None else self._exit_code(first)

    def _next(self, deadline: float | None) -> _RankProcess:
        """The next rank that ends; at the deadline all are ended."""
        if deadline is not None:
            try:
                return self.ended.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.kill()
        return self.ended.get()

    def _exit_code(self, rank: _RankProcess) -> int:
        """The exit code that a rank's end means, and words if the rank could not say them itself."""
        code = rank.code or 0
        if code < 0 and -code in self.signals:
            saved = self.saved()
            self.say(f"Interrupted. {saved}" if saved else NO_STEP)
        elif code < 0:
            self.say(f"{death_words(rank.number, rank.process.pid, -code, len(self.ranks))} {self.saved()}".rstrip())
        elif not (code <= ConvergenceError.exit_code or code > 128):
            self.say(f"Rank {rank.number} (process {rank.process.pid}) ended with exit code {code}.")
        return code if code > 0 else 128 - code

    def forward(self, number: int) -> None:
        """Hand a signal to every rank; too many of them kill."""
        self.signals.append(number)
        if self.signals.count(signal.SIGINT) >= LAST_WARNING:
            number = signal.SIGKILL
        if self.loader is not None:
            self.loader.process.send_signal(number)
        for rank in self.ranks:
            rank.process.send_signal(number)

    def kill(self) -> None:
        """End those that still run."""
        if self.loader is not None:
            self.loader.process.kill()
        for rank in self.ranks:
            if rank.process.poll() is None:
                rank.killed = True
                rank.process.kill()
        for rank in self.ranks:
            rank.process.wait()


def _was_killed(rank: _RankProcess) -> bool:
    return rank.code is not None and rank.code < 0


def death_words(rank: int, pid: int, number: int, ranks: int) -> str:
    """That a rank was killed, by what, and what may have been the reason."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    others = "the other ranks have been stopped" if ranks > 2 else "the other rank has been stopped"
    words = f"Rank {rank} (process {pid}) was killed by {name}; {others}."
    if number == signal.SIGKILL:
        words += (
            " If nobody did that by hand, memory may have run out: `eigenwerk check`, for nuclei `eigenwerk ncci "
            "check`, estimates the need."
        )
    elif number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE):
        words += " That is a fault of a library or of eigenwerk; please report it with the lines above."
    return words


def relay_stderr(rank: int, lines: IO[str]) -> None:
    """Copy a rank's errors to ours, each line with the rank in front."""
    for line in lines:
        sys.stderr.write(f"rank {rank}: {line.rstrip()}\n")
        sys.stderr.flush()


@contextmanager
def _signals(receive: Callable[[int], None]) -> Iterator[None]:
    """Give signals to `receive` for a while; those that were ignored before (SIGHUP under nohup) stay ignored."""

    def handle(number: int, frame: FrameType | None) -> None:
        receive(number)

    before = {}
    try:
        for number in FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_ranks(ranks: int) -> None:
    """EigenwerkError if this system cannot look after ranks."""
    if ranks > 1 and not sys.platform.startswith("linux"):
        raise EigenwerkError("--ranks works on Linux only. Start the ranks with torchrun or mpirun, or use one rank.")
