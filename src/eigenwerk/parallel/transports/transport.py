"""The verbs of a communicator on top of the few things that a transport must be able to do.

Shapes, complex numbers, staging through host memory and the trace are done here, once for all transports.
"""

from abc import abstractmethod
from collections.abc import Sequence

import torch

from eigenwerk.parallel.communicator import Communicator, Handle
from eigenwerk.parallel.links import Links
from eigenwerk.parallel.serial import SerialCommunicator
from eigenwerk.parallel.transports.pending import (
    DeferredTransfer,
    FinishedTransfer,
    Operation,
    Pending,
    WatchedTransfer,
    operation_of,
)
from eigenwerk.parallel.transports.primitives import Primitives
from eigenwerk.parallel.transports.recording import TracedCall, Transfer
from eigenwerk.parallel.transports.wire import numbers, pack, pinned_copy, unpack
from eigenwerk.record.trace import Trace

MOST_AXES = 7
"""Longest shape that `exchange` can tell other ranks."""


class TransportCommunicator(Primitives):
    """A communicator whose ranks are processes.

    The sum of bools is their "or".  Arrays on a device that the transport cannot reach travel through pinned memory.
    """

    def __init__(self, rank: int, world_ranks: Sequence[int], name: str, trace: Trace | None):
        self.rank, self.size, self.name = rank, len(world_ranks), name
        self.world_ranks = tuple(world_ranks)
        self.trace = trace if trace is not None else Trace(enabled=False)
        self.trace.joined(name, self.world_ranks)
        self._children: list[Communicator] = []
        self._splits = 0

    @abstractmethod
    def _child(
        self, members: Sequence[int], label: str, name: str, links: Links | None = None
    ) -> "TransportCommunicator":
        """As in `Primitives`."""

    # -- the verbs ------------------------------------------------------------------------------------------

    def sum(self, array_x: torch.Tensor) -> torch.Tensor:
        """All-reduce in place of the array, or of a copy where it is not contiguous."""
        return self._start_all_reduce("sum", array_x, operation_of(array_x), blocking=True).wait()

    def start_sum(self, array_x: torch.Tensor) -> Handle[torch.Tensor]:
        """All-reduce in place of the array, or of a copy where it is not contiguous."""
        return self._start_all_reduce("sum", array_x, operation_of(array_x))

    def max(self, array_x: torch.Tensor) -> torch.Tensor:
        """All-reduce.  ValueError for complex numbers, which have no order."""
        if array_x.is_complex():
            raise ValueError("the maximum of complex numbers does not exist")
        return self._start_all_reduce("max", array_x, "max", blocking=True).wait()

    def _start_all_reduce(
        self, verb: str, array_x: torch.Tensor, operation: Operation, blocking: bool = False
    ) -> Handle[torch.Tensor]:
        call = self._call(verb, array_x)
        flat = self._pack_to_reduce(array_x)
        if blocking:
            pending: Pending = DeferredTransfer(lambda: self._all_reduce_now(flat, operation))
        else:
            pending = self._all_reduce(flat, operation)
        return Transfer(call, pending, lambda: self._unpack(flat, array_x), [flat])

    def start_reduce(self, array_x: torch.Tensor, root: int = 0) -> Handle[torch.Tensor | None]:
        """Reduce to one rank."""
        self._check(root)
        call = self._call("reduce", array_x)
        flat = self._pack_to_reduce(array_x)
        pending = self._reduce(flat, operation_of(array_x), root)
        return Transfer(call, pending, lambda: self._unpack(flat, array_x) if self.rank == root else None, [flat])

    def start_reduce_scatter(self, array_px: torch.Tensor) -> Handle[torch.Tensor]:
        """Reduce-scatter.  ValueError unless there is one entry for each rank."""
        self._check_entries(len(array_px))
        call = self._call("reduce_scatter", array_px)
        flat = self._pack_to_reduce(array_px)
        out = self._empty(flat, flat.numel() // self.size)
        pending = self._reduce_scatter(out, flat, operation_of(array_px))
        return Transfer(call, pending, lambda: self._unpack(out, array_px, array_px.shape[1:]), [flat, out])

    def start_broadcast(self, array_x: torch.Tensor, root: int = 0) -> Handle[torch.Tensor]:
        """Broadcast in place of the array, or of a copy where it is not contiguous."""
        self._check(root)
        call = self._call("broadcast", array_x)
        flat = self._pack(array_x)
        return Transfer(call, self._broadcast(flat, root), lambda: self._unpack(flat, array_x), [flat])

    def start_all_gather(self, array_x: torch.Tensor, lengths: Sequence[int] | None = None) -> Handle[torch.Tensor]:
        """All-gather; ValueError for an array without axes."""
        call = self._call("all_gather", array_x)
        shape, counts = self._gathered_shape(array_x, lengths)
        flat = self._pack(array_x)
        out = self._empty(flat, sum(counts))
        pending = self._all_gather(out, flat, counts)
        return Transfer(call, pending, lambda: self._unpack(out, array_x, shape), [flat, out])

    def gather(self, array_x: torch.Tensor, root: int = 0, lengths: Sequence[int] | None = None) -> torch.Tensor | None:
        """An all-to-all in which only one rank gets anything."""
        self._check(root)
        call = self._call("gather", array_x)
        shape, counts = self._gathered_shape(array_x, lengths)
        mine = self.rank == root
        flat = self._pack(array_x)
        out = self._empty(flat, sum(counts) if mine else 0)
        sent = [flat.numel() if rank == root else 0 for rank in range(self.size)]
        pending = self._all_to_all(out, flat, counts if mine else [0] * self.size, sent)
        return Transfer(call, pending, lambda: self._unpack(out, array_x, shape) if mine else None, [flat, out]).wait()

    def start_all_to_all(self, array_px: torch.Tensor) -> Handle[torch.Tensor]:
        """All-to-all.  ValueError unless there is one entry for each rank."""
        self._check_entries(len(array_px))
        part = array_px.numel() * array_px.element_size() // self.size
        call = self._call("all_to_all", array_px, [(rank, part) for rank in range(self.size)])
        flat = self._pack(array_px)
        out = self._empty(flat, flat.numel())
        counts = [flat.numel() // self.size] * self.size
        pending = self._all_to_all(out, flat, counts, counts)
        return Transfer(call, pending, lambda: self._unpack(out, array_px), [flat, out])

    def start_exchange(
        self, arrays_p: Sequence[torch.Tensor], shapes_p: Sequence[Sequence[int]] | None = None
    ) -> Handle[list[torch.Tensor]]:
        """All-to-all of the arrays joined into one."""
        self._check_entries(len(arrays_p))
        first, sizes = arrays_p[0], [array.numel() * array.element_size() for array in arrays_p]
        call = self._call("exchange", first, list(enumerate(sizes)), sum(sizes))
        shapes_p = shapes_p if shapes_p is not None else self._exchanged_shapes(arrays_p)
        parts = [pack(array) for array in arrays_p]
        flat = self._stage(torch.cat(parts))
        out_counts = [numbers(shape, first.dtype) for shape in shapes_p]
        out = self._empty(flat, sum(out_counts))
        pending = self._all_to_all(out, flat, out_counts, [part.numel() for part in parts])

        def finish() -> list[torch.Tensor]:
            landed = out.to(first.device).split(out_counts)
            return [unpack(part, shape, first.dtype) for part, shape in zip(landed, shapes_p, strict=True)]

        return Transfer(call, pending, finish, [flat, out])

    def start_send(self, array_x: torch.Tensor, to: int) -> Handle[None]:
        """Send; the array must stay as it is until `wait`."""
        self._check(to)
        call = self._call("send", array_x, [(to, array_x.numel() * array_x.element_size())])
        flat = self._pack(array_x)
        return Transfer(call, self._send(flat, to), lambda: None, [flat])

    def start_receive(self, like_x: torch.Tensor, source: int) -> Handle[torch.Tensor]:
        """Receive into the memory of `like_x` where that is contiguous."""
        self._check(source)
        call = self._call("receive", like_x)
        out = self._receive_buffer(like_x)
        return Transfer(call, self._receive(out, source), lambda: self._unpack(out, like_x), [out])

    def start_swap(
        self, array_x: torch.Tensor, to: int, like_x: torch.Tensor, source: int, watched: bool = False
    ) -> Handle[torch.Tensor]:
        """Send and receive at the same time."""
        self._check(to)
        self._check(source)
        call = self._call("swap", array_x, [(to, array_x.numel() * array_x.element_size())])
        flat, out = self._pack(array_x), self._receive_buffer(like_x)
        if to == self.rank:
            out.copy_(flat)
        if watched:
            call.watch()
        pending = FinishedTransfer() if to == self.rank else self._swap(flat, to, out, source)
        if watched and call.on_device:
            # at once, or the end would be marked when the host, which may come late, asks for the result
            pending.wait()
            call.arrive()
        elif watched and self.takes_threads:
            pending = WatchedTransfer(pending, call.arrive)
        return Transfer(call, pending, lambda: self._unpack(out, like_x), [flat, out])

    # -- groups and agreement -------------------------------------------------------------------------------

    def split(self, color: int, key: int = 0, name: str = "", links: Links | None = None) -> Communicator:
        """Collective over all ranks, whatever their colour.  A part of one rank is a SerialCommunicator."""
        mine = torch.tensor([color, key])
        table_px = torch.empty(2 * self.size, dtype=mine.dtype)
        self._all_gather(table_px, mine, [2] * self.size).wait()
        entries = [(key, rank) for rank, (other, key) in enumerate(table_px.view(-1, 2).tolist()) if other == color]
        members = [rank for _, rank in sorted(entries)]
        label = f"{self._count_splits()}/{color}"
        if len(members) == 1:
            return SerialCommunicator(name or self.name, self.world_ranks[self.rank])
        child = self._child(members, label, name or self.name, links)
        self._children.append(child)
        return child

    def _copy(self, name: str) -> "TransportCommunicator":
        """Another communicator of the same ranks, which the caller closes."""
        return self._child(range(self.size), f"{self._count_splits()}/copy", name)

    def _count_splits(self) -> int:
        """How often the ranks have been split, this time included; all of them count, also those that stay alone."""
        self._splits += 1
        return self._splits

    def barrier(self) -> None:
        """Waits for the ranks, not for work that is queued on devices."""
        self._agree("barrier", False)

    def any(self, flag: bool) -> bool:
        """The maximum of a byte in host memory."""
        return self._agree("any", flag)

    def _agree(self, verb: str, flag: bool) -> bool:
        flat = torch.tensor([flag], dtype=torch.uint8)
        call = self._call(verb, flat)
        self._all_reduce_now(flat, "max")
        call.end()
        return bool(flat.item())

    def close(self) -> None:
        """Closes sub-communicators first."""
        self.close_parts()

    def close_parts(self) -> None:
        """Closes what was split off; collective, and harmless when repeated."""
        for child in self._children:
            child.close()
        self._children.clear()

    # -- packing and staging -------------------------------------------------------------------------------

    def _call(
        self, verb: str, array_x: torch.Tensor, peers: Sequence[tuple[int, int]] = (), bytes: int | None = None
    ) -> TracedCall:
        bytes = array_x.numel() * array_x.element_size() if bytes is None else bytes
        names = (verb, self.name, self.transport)
        world_peers = [(self.world_ranks[rank], count) for rank, count in peers]
        on_device = array_x.is_cuda and self._stream_ordered
        if array_x.is_cuda and not on_device:  # work queued before is no communication: it ends before the time counts
            torch.cuda.current_stream(array_x.device).synchronize()
        return TracedCall(self.trace, names, bytes, world_peers, on_device)

    def _pack(self, array_x: torch.Tensor) -> torch.Tensor:
        return self._stage(pack(array_x))

    def _pack_to_reduce(self, array_x: torch.Tensor) -> torch.Tensor:
        flat = pack(array_x)
        return flat if self._reduces_on(flat.device) else pinned_copy(flat)

    def _stage(self, flat: torch.Tensor) -> torch.Tensor:
        return flat if self._reaches(flat.device) else pinned_copy(flat)

    def _receive_buffer(self, like_x: torch.Tensor) -> torch.Tensor:
        """Memory like that of `_pack`, for numbers that come."""
        flat = pack(like_x)
        return flat if self._reaches(flat.device) else self._empty(flat.new_empty(0, device="cpu"), flat.numel(), True)

    @staticmethod
    def _empty(like: torch.Tensor, count: int, pinned: bool = False) -> torch.Tensor:
        return torch.empty(count, dtype=like.dtype, device=like.device, pin_memory=pinned or like.is_pinned())

    @staticmethod
    def _unpack(flat: torch.Tensor, like_x: torch.Tensor, shape: Sequence[int] | None = None) -> torch.Tensor:
        landed = flat if flat.device == like_x.device else flat.to(like_x.device, non_blocking=True)
        return unpack(landed, like_x.shape if shape is None else shape, like_x.dtype)

    def _gathered_shape(self, array_x: torch.Tensor, lengths: Sequence[int] | None) -> tuple[list[int], list[int]]:
        """Shape of all ranks' arrays joined, and how many numbers come from each rank."""
        if array_x.ndim == 0:
            raise ValueError("arrays without axes cannot be joined; give them one by `array[None]`")
        if lengths is None:
            told_p = torch.empty(self.size, dtype=torch.int64)
            self._all_gather(told_p, torch.tensor([len(array_x)]), [1] * self.size).wait()
            lengths = told_p.tolist()
        if len(lengths) != self.size or lengths[self.rank] != len(array_x):
            raise ValueError(f"lengths {list(lengths)} for {self.size} ranks, but rank {self.rank} has {len(array_x)}")
        row = numbers(array_x.shape[1:], array_x.dtype)
        return [sum(lengths), *array_x.shape[1:]], [length * row for length in lengths]

    def _exchanged_shapes(self, arrays_p: Sequence[torch.Tensor]) -> list[list[int]]:
        """The shapes of the arrays that come from each rank."""
        told_px = torch.zeros(self.size, MOST_AXES + 1, dtype=torch.int64)
        for told_x, array in zip(told_px, arrays_p, strict=True):
            told_x[: array.ndim + 1] = torch.tensor([array.ndim, *array.shape])
        heard_px, counts = torch.empty_like(told_px), [MOST_AXES + 1] * self.size
        self._all_to_all(heard_px.view(-1), told_px.view(-1), counts, counts).wait()
        return [shape[:axes] for axes, *shape in heard_px.tolist()]

    def _check(self, rank: int) -> None:
        if not 0 <= rank < self.size:
            raise ValueError(f"rank {rank} does not exist: the communicator has ranks 0 to {self.size - 1}")

    def _check_entries(self, count: int) -> None:
        if count != self.size:
            raise ValueError(f"{count} entries for {self.size} ranks")
