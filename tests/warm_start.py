"""Python processes for tests that begin at once: forks of one process that has loaded PyTorch and eigenwerk.

    process = WarmProcess(["-m", "eigenwerk.cli.main", "run", folder], stdout=PIPE, stderr=PIPE)
    out, err = process.communicate(timeout=60)

As `subprocess.Popen` with this Python in front of the words; only the loading of libraries, up to two seconds of a
core for each process, is done once for all of them.  Where a process starts ranks (`eigenwerk run --ranks 2`), they are
forks of it.
"""

import atexit
import fcntl
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path

from cost import shared

PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL

LOADED = (
    "eigenwerk.cli.run", "eigenwerk.dft.runs.run", "eigenwerk.ncci.series", "eigenwerk.parallel.launch.start",
    "eigenwerk.view.plot_process",
)  # fmt: skip
"""What processes find loaded, with PyTorch, h5py and all that these import."""

START = 120
"""Seconds for the first process to load all that, on a busy machine."""

RANK_NAME = "rank "
"""With its number, the name of a process that is a rank, as `ps` shows it."""

NUMBER = 8
"""Bytes of a number that the first process tells."""


# --- in the tests ----------------------------------------------------------------------------------------------------


class _Server:
    """The process that the others are forks of; it ends with this one, and they with it."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="warm")
        self._address = str(Path(self._folder.name) / "socket")
        words = [sys.executable, __file__, self._address]
        self._process = subprocess.Popen(words, stdin=PIPE, stdout=DEVNULL, start_new_session=True)
        atexit.register(self.close)

    def begun(self):
        """Wait until it listens."""
        limit = time.monotonic() + START
        while not Path(self._address).exists():
            assert self._process.poll() is None and time.monotonic() < limit, "the first process did not begin"
            time.sleep(0.02)

    def ask(self, job, numbers):
        """The line to a new process; numbers: the file descriptors that it gets."""
        line = socket.socket(socket.AF_UNIX)
        line.connect(self._address)
        text = json.dumps(job).encode()
        socket.send_fds(line, [len(text).to_bytes(NUMBER)], numbers)
        line.sendall(text)
        return line

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


_servers = {}
"""The server of a process that asked for one; forks of it have none."""


def _server():
    """That of this process; the tests do not pay for its start."""
    if os.getpid() not in _servers:
        with shared():
            _servers[os.getpid()] = _Server()
            _servers[os.getpid()].begun()
    return _servers[os.getpid()]


class WarmProcess:
    """A process, with what tests need of `subprocess.Popen`."""

    def __init__(self, words, *, cwd=None, env=None, stdout=None, stderr=None, pass_fds=()):
        self.args, self.returncode = list(map(str, words)), None
        self.stdout, out = _ends(stdout, 1)
        self.stderr, err = (None, out) if stderr == STDOUT else _ends(stderr, 2)
        job = {
            "words": self.args, "cwd": str(cwd or os.getcwd()), "env": dict(os.environ if env is None else env),
            "numbers": [1, 2, *pass_fds],
        }  # fmt: skip
        self._line = _server().ask(job, [out, err, *pass_fds])
        for number in {out if stdout == PIPE else 1, err if stderr == PIPE else 1} - {1}:
            os.close(number)
        self.pid = _hear(self._line)

    def poll(self):
        return self._wait(0)

    def wait(self, timeout=None):
        if self._wait(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def _wait(self, timeout):
        if self.returncode is None and select.select([self._line], [], [], timeout)[0]:
            self.returncode = os.waitstatus_to_exitcode(_hear(self._line))
            self._line.close()
        return self.returncode

    def communicate(self, timeout=None):
        """What is left to read of stdout and stderr, when the process has ended."""
        limit, texts = time.monotonic() + (10**6 if timeout is None else timeout), {}
        readers = [
            threading.Thread(target=lambda pipe=pipe: texts.update({pipe: pipe.read()}), daemon=True)
            for pipe in (self.stdout, self.stderr) if pipe is not None and not pipe.closed
        ]  # fmt: skip
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(max(0, limit - time.monotonic()))
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(max(0, limit - time.monotonic()))
        for pipe in filter(None, (self.stdout, self.stderr)):
            pipe.close()
        return texts.get(self.stdout), texts.get(self.stderr)

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)


def _ends(wanted, default):
    """(our end of a pipe, the number of what the process writes to)."""
    if wanted == PIPE:
        ours, theirs = os.pipe()
        return open(ours, errors="replace"), theirs
    return None, default if wanted is None else wanted.fileno()


def _hear(line):
    """The next number that the server tells."""
    told = line.recv(NUMBER, socket.MSG_WAITALL)
    assert len(told) == NUMBER, "the first process is gone"
    return int.from_bytes(told)


def warm_run(words, *, timeout=START, **more):
    """`subprocess.run` with captured texts, for the words after Python."""
    process = WarmProcess(words, stdout=PIPE, stderr=PIPE, **more)
    try:
        out, err = process.communicate(timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)
    finally:
        process.kill()


# --- in the first process --------------------------------------------------------------------------------------------


class _Nursery:
    """Forks a process for each job, and tells how each one ended."""

    def __init__(self, address):
        self._bell, ring = os.pipe()
        for end in (self._bell, ring):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{address}-")
        self._listener.listen(64)
        os.rename(f"{address}-", address)  # whoever sees it can connect
        self._lines = {}

    def next(self):
        """The job, in the process that is to do it; None in the first process, when the tests are over."""
        while True:
            ready = select.select([self._listener, self._bell, sys.stdin], [], [])[0]
            if self._bell in ready:
                with suppress(BlockingIOError):
                    os.read(self._bell, 4096)
                self._tell_of_the_dead()
            elif sys.stdin in ready:
                for pid in self._lines:
                    os.kill(pid, signal.SIGKILL)
                return None
            elif (job := self._fork()) is not None:
                return job

    def _fork(self):
        """The job in the child, None in the parent."""
        line = self._listener.accept()[0]
        head, given, _, _ = socket.recv_fds(line, NUMBER, 16)
        with line.makefile("rb") as text:
            job = json.loads(text.read(int.from_bytes(head)))
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            return job | {"given": given}
        for number in given:
            os.close(number)
        self._lines[pid] = line
        line.sendall(pid.to_bytes(NUMBER))
        return None

    def _tell_of_the_dead(self):
        while self._lines:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with suppress(OSError), self._lines.pop(pid) as line:
                line.sendall(status.to_bytes(NUMBER))


# --- in a new process ------------------------------------------------------------------------------------------------


def become(job):
    """Do what a fresh Python with these words would do; leaves by SystemExit or an error."""
    high = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 200) for number in job["given"]]
    close_all_but({0, *high})
    for number, place in zip(high, job["numbers"], strict=True):
        os.dup2(number, place)
        os.close(number)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.chdir(job["cwd"])
    run_words(job["words"], job["env"])


def run_words(words, environ):
    """Run what stands after `python`; leaves by SystemExit or an error."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environ)
    unbuffered = words[0] == "-u"
    bytes_out = open(1, "wb", buffering=0 if unbuffered else -1, closefd=False)  # noqa: SIM115
    sys.stdout = io.TextIOWrapper(bytes_out, errors="replace", write_through=unbuffered)
    sys.stderr = open(2, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
    Path("/proc/self/comm").write_text(f"{RANK_NAME}{environ['RANK']}" if "RANK" in environ else "warm")
    launch = sys.modules["eigenwerk.parallel.launch.launch"]
    launch.subprocess, launch.can_fork = ForkingSubprocess, lambda: False  # these ranks are forks of their own
    for folder in environ.get("PYTHONPATH", "").split(os.pathsep):
        if (Path(folder) / "sitecustomize.py").exists():
            runpy.run_path(f"{folder}/sitecustomize.py")
    words = words[unbuffered:]
    safe = words[0] == "-P"  # without the current folder
    words = words[safe:]
    if words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        exec(words[1], {"__name__": "__main__"})
    elif words[0] == "-m":
        sys.argv = words[1:]
        sys.path[:0] = [] if safe else [os.getcwd()]
        sys.modules.pop(words[1], None)  # it becomes __main__
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, str(Path(words[0]).resolve().parent))
        runpy.run_path(words[0], run_name="__main__")


class ForkingSubprocess:
    """What `parallel/launch/launch.py` takes for `subprocess`: ranks are forks and true children of their parent."""

    PIPE, DEVNULL = PIPE, DEVNULL

    @staticmethod
    def Popen(command, *, env, **more):
        """`preexec_fn` is the last thing that a child does before it becomes another program; this one stays."""

        def stay():
            close_all_but({0, 1, 2})  # the pipe by which Popen waits for the other program among them
            os._exit(exit_code(run_words, command[1:], env))

        sys.stdout.flush()
        # a Python of its own would ignore SIGPIPE, as this one does
        return subprocess.Popen(command, env=env, preexec_fn=stay, restore_signals=False, **more)


def exit_code(function, *arguments):
    """That of a Python that does this, its last words said."""
    code = 0
    try:
        function(*arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def close_all_but(kept):
    """Close all other file descriptors."""
    for number in set(map(int, os.listdir("/proc/self/fd"))) - kept:
        with suppress(OSError):
            os.close(number)


if __name__ == "__main__":
    for module in LOADED:
        __import__(module)
    wanted = _Nursery(sys.argv[1]).next()
    if wanted is not None:
        os._exit(exit_code(become, wanted))  # PyTorch would take a second to take itself apart
