"""Arrays that the ranks of a machine have in common: one rank makes them, all look at the same memory.

The memory belongs to no file of the disk and to no name that others could meet: it is gone with the last rank that has
it, however ranks end.  Where ranks cannot look into each other (other containers, not Linux) each makes its own.
"""

import json
import mmap
import os
import socket
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np
import torch

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.one_for_all import one_for_all

Arrays = dict[str, np.ndarray]

BOOT = Path("/proc/sys/kernel/random/boot_id")
"""What no two machines, and no two starts of one, have in common."""

_nodes: "WeakKeyDictionary[Communicator, Communicator]" = WeakKeyDictionary()
"""The ranks of this machine among those of a communicator."""

LINE = 64
"""Arrays begin at multiples of so many bytes."""


def once_per_node(comm: Communicator, make: Callable[[], Arrays]) -> Arrays:
    """What `make` gives, made by one rank of every machine; collective.

    make: gives the same on all ranks, and does not communicate.  Its InputError is raised on all ranks of its machine.
    The arrays are not to be written to; who does so changes its own pages only.
    """
    if comm.size == 1:
        return make()
    node = _nodes.get(comm) or comm.split(_first_of_machine(comm), comm.rank, "machine")
    _nodes[comm] = node
    if node.size == 1:
        return make()
    made: Arrays = {}
    descriptor = -1

    def put() -> str:
        nonlocal descriptor
        made.update(make())
        descriptor, told = _put(made)
        return told

    told = one_for_all(node, put)
    found = _seen(told)
    node.any(found is None)  # until then the first rank keeps it open
    if descriptor >= 0:
        os.close(descriptor)
    if found is None:
        return made if node.rank == 0 else make()
    return found


def _first_of_machine(comm: Communicator) -> int:
    """The first rank that runs where this one does."""
    boot = BOOT.read_text() if BOOT.exists() else ""
    name = sha256(f"{socket.gethostname()} {boot}".encode()).digest()[:8]
    own = torch.tensor([int.from_bytes(name, "little", signed=True)])
    return comm.all_gather(own, [1] * comm.size).tolist().index(int(own))


def _put(arrays: Arrays) -> tuple[int, str]:
    """Moves arrays into memory of its own, one after the other; its descriptor (-1 where there is no such memory, and
    the arrays stay) and where others find what."""
    if not hasattr(os, "memfd_create"):
        return -1, ""
    first: dict[int, int] = {}  # by identity: an array with two names is there once
    total = LINE
    for array in arrays.values():
        if id(array) not in first:
            first[id(array)] = total
            total += -(-array.nbytes // LINE) * LINE
    places = {name: (array.dtype.str, array.shape, first[id(array)]) for name, array in arrays.items()}
    mark = os.urandom(16)
    try:
        descriptor = os.memfd_create("eigenwerk", os.MFD_CLOEXEC)
        os.truncate(descriptor, total)
    except OSError:
        return -1, ""
    with mmap.mmap(descriptor, total) as memory:
        memory[: len(mark)] = mark
        for name, (_, _, begin) in places.items():
            array = np.ascontiguousarray(arrays.pop(name))
            memory[begin : begin + array.nbytes] = array.reshape(-1).view(np.uint8).data
    path = f"/proc/{os.getpid()}/fd/{descriptor}"
    return descriptor, json.dumps({"path": path, "mark": mark.hex(), "bytes": total, "places": places})


def _seen(told: str) -> Arrays | None:
    """The arrays that another process, or this one, has put; None where it cannot be looked at."""
    if not told:
        return None
    words = json.loads(told)
    try:
        with open(words["path"], "rb") as file:
            memory = mmap.mmap(file.fileno(), words["bytes"], access=mmap.ACCESS_COPY)
    except (OSError, ValueError):
        return None
    if memory[: len(words["mark"]) // 2].hex() != words["mark"]:  # the process of another container
        return None
    return {
        name: np.frombuffer(memory, kind, int(np.prod(shape)), begin).reshape(shape)
        for name, (kind, shape, begin) in words["places"].items()
    }
