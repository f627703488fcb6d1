"""Gloo for processors and NCCL for GPUs, through the process groups of torch.distributed.

    world = gloo_world(rank, size, store, trace)
    world = nccl_world(rank, size, store, device, trace)

Every communicator is a process group of its own, made from the given store; the default group of torch.distributed
is neither needed nor touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import torch
from torch.distributed import PrefixStore, ProcessGroupGloo, ReduceOp, Store

from eigenwerk.errors import InputError
from eigenwerk.parallel.links import LEAST_BLOCKS, MOST_BLOCKS, USUAL, Links
from eigenwerk.parallel.transports.pending import Operation, Pending, PendingAll
from eigenwerk.parallel.transports.table import JoinRequest
from eigenwerk.parallel.transports.transport import TransportCommunicator
from eigenwerk.record.trace import Trace

OPERATIONS = {"sum": ReduceOp.SUM, "max": ReduceOp.MAX}

TAG_POINT, TAG_GATHER = 0, 1
"""Tags of messages between two ranks: those of the user, and those of joins."""


@dataclass(frozen=True)
class GroupOptions:
    """How the process groups of a run are made.

    timeout: seconds after which a verb that does not end is an error; interface: network interface of Gloo, "" for
    that of the host's name.  device: the GPU of this process, for NCCL; links: what NCCL takes of it.
    """

    timeout: float = 1800.0
    interface: str = ""
    device: torch.device | None = None
    links: Links = USUAL

    def open(self, store: Store, rank: int, size: int) -> dict[str, Any]:
        """The groups by kind of device; collective over the ranks of the group."""
        groups: dict[str, Any] = {"cpu": self._gloo(PrefixStore("gloo", store), rank, size)}
        if self.device is not None:
            groups["cuda"] = self._nccl(PrefixStore("nccl", store), rank, size)
        return groups

    def _gloo(self, store: Store, rank: int, size: int) -> Any:
        kind: Any = ProcessGroupGloo
        options = kind._Options()
        options._timeout = timedelta(seconds=self.timeout)
        network = kind.create_device(interface=self.interface) if self.interface else kind.create_default_device()
        options._devices = [network]
        return kind(store, rank, size, options)

    def _nccl(self, store: Store, rank: int, size: int) -> Any:
        kind: Any = torch.distributed.ProcessGroupNCCL
        options = kind.Options(is_high_priority_stream=self.links.high_priority)
        options._timeout = timedelta(seconds=self.timeout)
        if self.links.thread_blocks is not None:
            options.config.min_ctas = options.config.max_ctas = self.links.thread_blocks
        group = kind(store, rank, size, options)
        group.eager_connect_single_device(self.device)
        return group


class TorchCommunicator(TransportCommunicator):
    """Ranks joined by Gloo, and by NCCL too where they have GPUs; then arrays in host memory still go by Gloo."""

    def __init__(
        self, rank: int, world_ranks: Sequence[int], store: Store, options: GroupOptions, name: str, trace: Trace | None
    ):
        super().__init__(rank, world_ranks, name, trace)
        self._store, self._options = store, options
        self._groups = options.open(store, rank, self.size)
        self._stream_ordered = options.device is not None
        self.transport = "gloo" if options.device is None else "nccl"
        self.path = (
            "Gloo; CUDA tensors are staged through pinned memory"
            if options.device is None
            else "NCCL for CUDA tensors, directly; Gloo for tensors in host memory"
        )

    def _group(self, flat: torch.Tensor) -> Any:
        return self._groups[flat.device.type]

    def _reaches(self, device: torch.device) -> bool:
        return device.type in self._groups

    def _all_reduce(self, flat: torch.Tensor, operation: Operation) -> Pending:
        return self._group(flat).allreduce([flat], OPERATIONS[operation])

    def _all_reduce_now(self, flat: torch.Tensor, operation: Operation) -> None:
        options: Any = torch.distributed.AllreduceOptions()
        options.reduceOp, options.asyncOp = OPERATIONS[operation], False  # NCCL: in the current queue, without a detour
        work = self._group(flat).allreduce([flat], options)
        if work is not None:  # Gloo works elsewhere all the same
            work.wait()

    def _reduce(self, flat: torch.Tensor, operation: Operation, root: int) -> Pending:
        return self._group(flat).reduce(flat, root, OPERATIONS[operation])

    def _broadcast(self, flat: torch.Tensor, root: int) -> Pending:
        return self._group(flat).broadcast(flat, root)

    def _all_gather(self, out: torch.Tensor, flat: torch.Tensor, counts: Sequence[int]) -> Pending:
        group = self._group(flat)
        if not flat.is_cuda:
            return self._gather_by_messages(group, out, flat, counts)
        if len(set(counts)) == 1:
            return group._allgather_base(out, flat)
        return group.allgather([list(out.split(list(counts)))], [flat])

    def _gather_by_messages(self, group: Any, out: torch.Tensor, flat: torch.Tensor, counts: Sequence[int]) -> Pending:
        """Every rank sends to every other: Gloo's own all-gather knows even lengths only and is 3 times slower."""
        others = [(self.rank + shift) % self.size for shift in range(1, self.size)]
        parts = out.split(list(counts))
        parts[self.rank].copy_(flat)
        coming = [group.recv([parts[rank]], rank, TAG_GATHER) for rank in others if counts[rank]]
        going = [group.send([flat], rank, TAG_GATHER) for rank in others if counts[self.rank]]
        return PendingAll(coming + going)

    def _all_to_all(
        self, out: torch.Tensor, flat: torch.Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> Pending:
        return self._group(flat).alltoall_base(out, flat, list(out_counts), list(counts))

    def _reduce_scatter(self, out: torch.Tensor, flat: torch.Tensor, operation: Operation) -> Pending:
        if flat.is_cuda:
            options: Any = torch.distributed.ReduceScatterOptions()
            options.reduceOp = OPERATIONS[operation]
            return self._group(flat)._reduce_scatter_base(out, flat, options)
        return super()._reduce_scatter(out, flat, operation)

    def _send(self, flat: torch.Tensor, to: int) -> Pending:
        return self._group(flat).send([flat], to, TAG_POINT)

    def _receive(self, flat: torch.Tensor, source: int) -> Pending:
        return self._group(flat).recv([flat], source, TAG_POINT)

    def _swap(self, flat: torch.Tensor, to: int, out: torch.Tensor, source: int) -> Pending:
        if flat.is_cuda:  # NCCL takes one after the other, unless it gets them as one all-to-all
            out_counts, counts = [0] * self.size, [0] * self.size
            out_counts[source], counts[to] = out.numel(), flat.numel()
            return self._all_to_all(out, flat, out_counts, counts)
        return PendingAll([self._receive(out, source), self._send(flat, to)])

    def _child(
        self, members: Sequence[int], label: str, name: str, links: Links | None = None
    ) -> "TorchCommunicator":
        store = PrefixStore(label, self._store)
        world_ranks = [self.world_ranks[rank] for rank in members]
        options = self._options if links is None else replace(self._options, links=links)
        return TorchCommunicator(members.index(self.rank), world_ranks, store, options, name, self.trace)

    def close(self) -> None:
        """Waits for the other ranks, so that nobody loses a connection still in use."""
        if self._groups:
            super().close()
            self.barrier()
        groups, self._groups = self._groups, {}
        for group in groups.values():
            group.shutdown()


def gloo_world(
    rank: int,
    size: int,
    store: Store,
    trace: Trace | None = None,
    *,
    timeout: float = 1800.0,
    interface: str = "",
) -> TorchCommunicator:
    """All ranks, joined by Gloo; collective.

    store: any store of torch.distributed that all ranks reach; timeout in seconds; interface: of the network, for
    example "lo" for ranks of one machine, "" for that of the host's name.  Raises InputError without Gloo.
    """
    if not torch.distributed.is_gloo_available():
        raise InputError("This PyTorch comes without Gloo. Use --transport mpi, or a PyTorch with Gloo.")
    return TorchCommunicator(rank, range(size), store, GroupOptions(timeout, interface), "world", trace)


def nccl_world(
    rank: int,
    size: int,
    store: Store,
    device: torch.device,
    trace: Trace | None = None,
    *,
    timeout: float = 1800.0,
    interface: str = "",
    high_priority: bool = True,
    thread_blocks: int | None = None,
) -> TorchCommunicator:
    """All ranks, each with a GPU of its own, joined by NCCL (and by Gloo for host memory); collective.

    device: with its index; it becomes the current one.  high_priority: transfers run on a stream of high priority;
    thread_blocks: with how many NCCL moves data, None for its own choice.  Raises InputError without NCCL, without that
    GPU, or for thread_blocks outside 1 ... 32.
    """
    if not torch.distributed.is_nccl_available() or not torch.cuda.is_available():
        raise InputError("NCCL needs an NVIDIA GPU and a PyTorch made for CUDA. Use --transport gloo or mpi.")
    if device.type != "cuda" or device.index is None or device.index >= torch.cuda.device_count():
        last = torch.cuda.device_count() - 1
        raise InputError(f"NCCL needs a GPU of this node, cuda:0 to cuda:{last}, not {device}.")
    if thread_blocks is not None and not LEAST_BLOCKS <= thread_blocks <= MOST_BLOCKS:
        limits = f"{LEAST_BLOCKS} to {MOST_BLOCKS}"
        raise InputError(f"{thread_blocks} thread blocks for NCCL; it takes {limits}, or none for its own choice.")
    torch.cuda.set_device(device)
    options = GroupOptions(timeout, interface, device, Links(high_priority, thread_blocks))
    return TorchCommunicator(rank, range(size), store, options, "world", trace)


def join_by_gloo(request: JoinRequest) -> TorchCommunicator:
    """`gloo_world` of a run."""
    return gloo_world(request.rank, request.size, request.store, request.trace, interface=request.interface)


def join_by_nccl(request: JoinRequest) -> TorchCommunicator:
    """`nccl_world` of a run."""
    device, trace = request.device, request.trace
    return nccl_world(request.rank, request.size, request.store, device, trace, interface=request.interface)
