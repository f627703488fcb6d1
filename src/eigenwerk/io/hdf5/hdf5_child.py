"""The process that reads HDF5 files for others, and may crash, hang or run out of memory in their place.

HDF5 believes what it reads: damaged bytes lead it round in circles, out of its memory, or to other files.  So the
process that computes never lets it see a file; a fork of this one does, for each file another, with a bound on time and
memory and no way to open any other file, and tells what it found (`hdf5_answer`).  This one ends with the process that
started it, or when it has nothing to do.  Started by `hdf5_guard`: python -m eigenwerk.io.hdf5.hdf5_child SOCKET.
"""

import array
import json
import mmap
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from eigenwerk.io.hdf5.hdf5_answer import LENGTHS, encoded
from eigenwerk.io.hdf5.hdf5_tree import get, hard, put, read_dataset

IDLE = 20.0
"""Seconds without a question after which it ends."""

MEMORY = 4 * 2**30
"""Bytes of address space beyond what it has after its start."""

DESCRIPTORS = 6
"""Open files: standard ones, the socket, and that which is read, with one to spare for Python."""

LINE = 3
"""Descriptor of the socket."""


def header(file: h5py.File, only: list[str] | None) -> dict[str, Any]:
    """Attributes of the root that say what a file is."""
    names = ("format", "version", "program_version", "created")
    return {name: _plain(file.attrs[name]) for name in names if name in file.attrs}


def tree(file: h5py.File, only: list[str] | None) -> dict[str, Any]:
    """The same and the values of a state, or of its groups of some names."""
    seen: set[int] = set()
    names = [name for name in file if only is None or name in only]
    return {"header": header(file, None), "tree": {name: get(file, name, seen) for name in names}}


def datasets(file: h5py.File, only: list[str] | None) -> dict[str, Any]:
    """Datasets by path, with their unit (attribute) or None; those that are there."""
    found = {}
    for path in only or ():
        group: Any = file
        parts = path.split("/")
        for name in parts[:-1]:
            group = hard(group, name) if isinstance(group, h5py.Group) and name in group else None
        if isinstance(group, h5py.Group) and parts[-1] in group:
            stored = hard(group, parts[-1])
            if isinstance(stored, h5py.Dataset):
                unit = stored.attrs.get("unit")
                found[path] = {"value": read_dataset(stored), "unit": None if unit is None else str(unit)}
    return found


JOBS: Mapping[str, Callable[[h5py.File, list[str] | None], dict[str, Any]]] = {
    "header": header, "tree": tree, "datasets": datasets,
}  # fmt: skip


def _plain(value: Any) -> Any:
    """An attribute as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, bool | int | float | str) else str(value)


def answer(question: Mapping[str, Any], descriptor: int) -> tuple[bytes, list[np.ndarray]]:
    """What a file holds, or why that cannot be told."""
    try:
        with os.fdopen(descriptor, "rb", closefd=False) as raw, h5py.File(raw, "r") as file:
            return encoded({"found": JOBS[question["job"]](file, question["only"])})
    except MemoryError:
        return encoded({"wrong": f"it would need more than {MEMORY / 2**30:.0f} GiB of memory"})
    except RecursionError:
        return encoded({"wrong": "it holds groups in groups without an end"})
    except Exception as error:  # whatever HDF5 and h5py make of damaged bytes
        return encoded({"wrong": f"{error}"[:500] or type(error).__name__})


def serve(line: socket.socket) -> None:
    """Answer questions until the other end is gone, or silent."""
    line.settimeout(IDLE)
    while True:
        try:
            first, descriptors = _received(line)
        except TimeoutError:
            return
        if not first:
            return
        line.settimeout(None)
        length, seconds = LENGTHS.unpack(first)
        question = json.loads(_exactly(line, length))
        begun = mmap.mmap(-1, 1)
        pid = os.fork()
        if not pid:
            signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process, also inside HDF5
            _tell(line, begun, *answer(question, descriptors[0]))
            os._exit(0)
        os.close(descriptors[0])
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            if begun[0]:  # half an answer
                return
            line.sendall(LENGTHS.pack(-1, code))
        line.settimeout(IDLE)


def _tell(line: socket.socket, begun: mmap.mmap, text: bytes, arrays: list[np.ndarray]) -> None:
    begun[0] = 1
    line.sendall(LENGTHS.pack(len(text), sum(one.nbytes for one in arrays)) + text)
    for one in arrays:
        line.sendall(one.reshape(-1).view(np.uint8).data)


def _received(line: socket.socket) -> tuple[bytes, list[int]]:
    """Lengths of a question, and the descriptor of the file that it is about."""
    numbers = array.array("i")
    first, told, _, _ = line.recvmsg(LENGTHS.size, socket.CMSG_LEN(4))
    for _, kind, data in told:
        if kind == socket.SCM_RIGHTS:
            numbers.frombytes(data[: len(data) - len(data) % 4])
    if first:
        first += _exactly(line, LENGTHS.size - len(first))
    return first, list(numbers)


def _exactly(line: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = line.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def limit() -> None:
    """No core files, no writing, no other files, and memory up to a bound."""
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if _linux() else 0
    for what, bound in (
        (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, DESCRIPTORS),
        *(((resource.RLIMIT_AS, own + MEMORY),) if own else ()),
    ):  # fmt: skip
        hard_bound = resource.getrlimit(what)[1]
        if hard_bound != resource.RLIM_INFINITY:
            bound = min(bound, hard_bound)
        resource.setrlimit(what, (bound, bound))


def _linux() -> bool:
    return Path("/proc/self/statm").exists()


def main() -> None:
    """Everything that reading needs is loaded before other files are out of reach."""
    given = int(sys.argv[1])
    if given != LINE:
        os.dup2(given, LINE)
        os.close(given)
    rehearse()
    limit()
    with socket.socket(fileno=LINE) as line:
        serve(line)


def rehearse() -> None:
    """Reads one of each kind from memory, so that what h5py loads late is loaded."""
    state = {"words": np.array(["ä"]), "word": "word", "packed": np.arange(9.0), "list": [1j, None], "flags": (True,)}
    with h5py.File("rehearsal", "w", driver="core", backing_store=False) as file:
        put(file, "state", state, "gzip")
        encoded(get(file, "state", set()))


if __name__ == "__main__":
    main()
