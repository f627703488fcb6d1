"""Ranks for tests: processes that start once and run many functions.

    pool = RankPool(4, "gloo")
    results = pool.run(function, 3, word="x")     # function(world, 3, word="x") on every rank; the results by rank

`function` stands at the top level of a test file; arguments and results are pickled.  Run as a program, this file is
one such rank: `python rank_pool.py ADDRESS TRANSPORT SIZE STORE [RANK]`.
"""

import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from multiprocessing.connection import Client, Listener
from pathlib import Path

from warm_start import WarmProcess

TIMEOUT = 120.0
"""Seconds after which a function that has not come back counts as hanging."""


def find_mpirun():
    """The mpirun that belongs to this Python, or else the system's; None if there is none."""
    own = Path(sys.executable).parent / "mpirun"
    return str(own) if own.exists() else shutil.which("mpirun")


def why_no_mpi():
    """Why tests cannot run under MPI here; empty if they can."""
    if importlib.util.find_spec("mpi4py") is None:
        return "mpi4py is not installed"
    return "" if find_mpirun() else "there is no mpirun"


class RankPool:
    """Processes joined by a world communicator, waiting for work."""

    def __init__(self, size, transport="gloo"):
        self.size, self.transport = size, transport
        self._folder = tempfile.TemporaryDirectory(prefix="ranks")
        listener = Listener(str(Path(self._folder.name) / "socket"), family="AF_UNIX")
        self._output = open(Path(self._folder.name) / "output", "w+")  # noqa: SIM115
        self._processes = [self._start(command) for command in self._commands(listener.address)]
        self._lines = [None] * size
        listener._listener._socket.settimeout(TIMEOUT)
        try:
            for _ in range(size):
                line = listener.accept()
                self._lines[self._hear(line)] = line
        except BaseException:
            self.close()
            raise
        finally:
            listener.close()

    def _commands(self, address):
        program = [__file__, address, self.transport, str(self.size), f"{self._folder.name}/store"]
        if self.transport == "mpi":
            mpirun = [find_mpirun(), "--oversubscribe", "--bind-to", "none", "-n", str(self.size)]
            return [[*mpirun, sys.executable, *program]]
        return [[*program, str(rank)] for rank in range(self.size)]

    def _start(self, command):
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        environment = {**os.environ, **allowed, "TMPDIR": self._folder.name}
        begin = subprocess.Popen if self.transport == "mpi" else WarmProcess
        return begin(command, env=environment, stdout=self._output, stderr=subprocess.STDOUT)

    def run(self, function, *args, **kwargs):
        """The results of all ranks; AssertionError with the tracebacks of the ranks that failed."""
        for line in self._lines:
            line.send((inspect.getfile(function), function.__qualname__, args, kwargs))
        try:
            answers = [self._hear(line) for line in self._lines]
        except BaseException:
            self.close()
            raise
        faults = [f"rank {rank}:\n{text}" for rank, (good, text) in enumerate(answers) if not good]
        if faults:
            self.close()  # the ranks may be out of step
            raise AssertionError("\n".join(faults))
        return [result for _, result in answers]

    def _hear(self, line):
        """The next message of a rank, or an AssertionError when a process dies or none comes."""
        deadline = time.monotonic() + TIMEOUT
        while not line.poll(0.2):
            dead = [process.args for process in self._processes if process.poll() is not None]
            if dead or time.monotonic() > deadline:
                raise AssertionError(f"a rank {'died' if dead else 'hangs'}:\n{self._said()}")
        try:
            return line.recv()
        except EOFError:
            raise AssertionError(f"a rank died:\n{self._said()}") from None

    def _said(self):
        self._output.seek(0)
        return self._output.read()

    @property
    def alive(self):
        """Whether all processes run."""
        return all(process.poll() is None for process in self._processes)

    def hang_up(self):
        """The processes may end; harmless when repeated."""
        for line in filter(None, self._lines):
            line.close()

    def close(self):
        """Ends the processes; harmless when repeated."""
        if self._output.closed:
            return
        self.hang_up()
        deadline = time.monotonic() + 5
        for process in self._processes:
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._output.close()
        self._folder.cleanup()


# --- one rank --------------------------------------------------------------------------------------------------------


def make_world(transport, size, store, rank):
    """The world communicator of this process, with a trace; with "nccl" rank r has GPU r."""
    import torch
    from torch.distributed import FileStore

    from eigenwerk.parallel.transports.torch_distributed import gloo_world, nccl_world
    from eigenwerk.record.trace import Trace

    if transport == "nccl":
        device = torch.device("cuda", int(rank))
        return nccl_world(int(rank), int(size), FileStore(store, int(size)), device, Trace(), interface="lo")
    if transport == "mpi":
        from eigenwerk.parallel.transports.mpi import mpi_world

        return mpi_world(Trace())
    return gloo_world(int(rank), int(size), FileStore(store, int(size)), Trace(), interface="lo")


def load(path, name, loaded={}):  # noqa: B006 (a file is loaded once)
    """The function of this name in a test file."""
    if path not in loaded:
        spec = importlib.util.spec_from_file_location(f"ranks_of_{Path(path).stem}", path)
        loaded[path] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded[path])
    return getattr(loaded[path], name)


def serve(address, transport, size, store, rank="0"):
    """Do what the test asks until it hangs up."""
    import torch

    from eigenwerk.parallel.memory import node_arrays

    torch.set_num_threads(1)
    world = make_world(transport, size, store, rank)
    line = Client(address, family="AF_UNIX")
    line.send(world.rank)
    while True:
        try:
            path, name, args, kwargs = line.recv()
        except (EOFError, OSError):
            world.close()
            return
        try:
            result = load(path, name)(world, *args, **kwargs)
            # each group has threads of Gloo that wake a hundred times in a second, until it is closed
            node_arrays._nodes.clear()
            world.close_parts()
            line.send((True, result))
        except BaseException:
            line.send((False, traceback.format_exc()))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    serve(*sys.argv[1:])
