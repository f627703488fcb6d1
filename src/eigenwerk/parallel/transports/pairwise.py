"""Sums by messages between pairs of ranks, added where the arrays lie.

    comm = PairwiseCommunicator(nccl_world(...))

Rank q owns part q of the array.  In round r every rank sends to the rank r places further the part which that one owns
and receives its own from r places back; the next message travels while this one is added.  Then the finished parts go
around in the same way.  Each rank sends and receives 2 (p-1)/p of the array, as in a ring, but in p-1 steps that
need not follow each other.  Source: Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19, 49 (2005).

Where the communicator cannot reach the memory of a device, the messages travel through pinned memory, but the sums are
still made on the device.  Every part is added up by one rank in a fixed order: the same bits on every rank and in every
run.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from types import TracebackType

import torch

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.process_grid import share
from eigenwerk.parallel.side_stream import side_stream
from eigenwerk.parallel.transports.layered import LayeredCommunicator
from eigenwerk.parallel.transports.pending import DeferredTransfer, Operation, Pending, PendingAll, reduce_rows
from eigenwerk.parallel.transports.transport import TransportCommunicator
from eigenwerk.parallel.transports.wire import pinned_copy, pinned_like

WHOLE_BYTES = 2**16
"""Arrays up to this size go to every rank whole: one round trip less (measured in benchmarks/parts/collectives)."""


class PairwiseCommunicator(LayeredCommunicator):
    """Another communicator, with reductions by its messages; all other verbs are its own.

    whole_bytes: arrays up to this size travel whole.  In host memory a reduction is complete when `start_...` returns;
    on a GPU it runs on a stream of its own.
    """

    def __init__(self, inner: TransportCommunicator, whole_bytes: int = WHOLE_BYTES):
        super().__init__(inner, f"pairwise {inner.transport}", "sums by messages between pairs of ranks")
        self._whole_bytes = whole_bytes

    def _rewrapped(self, inner: TransportCommunicator) -> TransportCommunicator:
        return PairwiseCommunicator(inner, self._whole_bytes)

    def _all_reduce(self, flat: torch.Tensor, operation: Operation) -> Pending:
        with _OnSideStream(flat) as pending:
            if flat.numel() * flat.element_size() <= self._whole_bytes:
                self._reduce_whole(flat, operation)
            else:
                parts_p = self._parts(flat)
                self._reduce_own(parts_p[self.rank], parts_p, operation)
                self._all_gather_parts(parts_p)
        return pending

    def _reduce(self, flat: torch.Tensor, operation: Operation, root: int) -> Pending:
        with _OnSideStream(flat) as pending:
            parts_p = self._parts(flat)
            self._reduce_own(parts_p[self.rank], parts_p, operation)
            self._gather_parts(flat, parts_p, root)
        return pending

    def _reduce_scatter(self, out: torch.Tensor, flat: torch.Tensor, operation: Operation) -> Pending:
        with _OnSideStream(flat) as pending:
            parts_p = flat.split(out.numel()) if out.numel() else [flat] * self.size
            out.copy_(parts_p[self.rank])
            self._reduce_own(out, parts_p, operation)
        return pending

    def _reduces_on(self, device: torch.device) -> bool:
        return True  # messages are staged where they must be, sums are not

    def _parts(self, flat: torch.Tensor) -> list[torch.Tensor]:
        return [flat[share(len(flat), self.size, part)] for part in range(self.size)]

    def _reduce_whole(self, flat: torch.Tensor, operation: Operation) -> None:
        """Everyone gets everything and adds in the order of ranks."""
        whole_px = flat.new_empty(self.size, len(flat))
        whole_px[self.rank] = flat
        coming = [self._round(shift, flat, whole_px[self.rank - shift]) for shift in range(1, self.size)]
        for pending in coming:
            pending.wait()
        reduce_rows(whole_px, operation, flat)

    def _reduce_own(self, own: torch.Tensor, parts_p: Sequence[torch.Tensor], operation: Operation) -> None:
        """Add the others' contributions to the part of this rank, one while the next one travels."""
        buffers = [torch.empty_like(own) for _ in range(min(2, self.size - 1))]
        coming = self._send_part(1, parts_p, buffers[0]) if self.size > 1 else None
        for shift in range(1, self.size):
            assert coming is not None
            coming.wait()
            buffer = buffers[(shift - 1) % 2]
            coming = self._send_part(shift + 1, parts_p, buffers[shift % 2]) if shift + 1 < self.size else None
            torch.maximum(own, buffer, out=own) if operation == "max" else own.add_(buffer)

    def _send_part(self, shift: int, parts_p: Sequence[torch.Tensor], buffer: torch.Tensor) -> Pending:
        return self._round(shift, parts_p[(self.rank + shift) % self.size], buffer)

    def _all_gather_parts(self, parts_p: Sequence[torch.Tensor]) -> None:
        """The finished part of each rank to all others."""
        rounds = range(1, self.size)
        own = parts_p[self.rank]
        for pending in [self._round(shift, own, parts_p[self.rank - shift]) for shift in rounds]:
            pending.wait()

    def _round(self, shift: int, given: torch.Tensor, taken: torch.Tensor) -> Pending:
        """Send to the rank `shift` places further, receive from as many places back."""
        to, source = (self.rank + shift) % self.size, (self.rank - shift) % self.size
        if self._reaches(given.device):
            return self._inner._swap(given, to, taken, source)
        landing = pinned_like(taken)
        pending = self._inner._swap(pinned_copy(given), to, landing, source)
        return PendingAll([pending, DeferredTransfer(lambda: _to_device(landing, taken))])

    def _gather_parts(self, flat: torch.Tensor, parts_p: Sequence[torch.Tensor], root: int) -> None:
        """The finished parts to one rank."""
        direct = self._reaches(flat.device)
        own = parts_p[self.rank].clone() if direct else pinned_copy(parts_p[self.rank])
        out = flat if direct else pinned_like(flat)
        lengths, none = [len(part) for part in parts_p], [0] * self.size
        given = [len(own) if rank == root else 0 for rank in range(self.size)]
        mine = self.rank == root
        self._inner._all_to_all(out if mine else out[:0], own, lengths if mine else none, given).wait()
        if mine and not direct:
            _to_device(out, flat)


def _to_device(host: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(host, non_blocking=True)


class _OnSideStream:
    """On a GPU: queues what is done inside on a stream beside the current one, which waits for it later."""

    def __init__(self, flat: torch.Tensor):
        self._stream = side_stream(flat.device) if flat.is_cuda else None
        self._context: torch.cuda.StreamContext | nullcontext[None] = nullcontext()

    def __enter__(self) -> "_OnSideStream":
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
            self._context = torch.cuda.stream(self._stream)
        self._context.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._done = self._stream.record_event() if self._stream is not None else None
        self._context.__exit__(kind, error, traceback)

    def wait(self) -> None:
        """The current stream goes on when it is done."""
        if self._done is not None:
            torch.cuda.current_stream().wait_event(self._done)


def sums_by_messages(comm: Communicator) -> Communicator:
    """A communicator whose reductions are made in this way; one rank alone as it is."""
    return PairwiseCommunicator(comm) if isinstance(comm, TransportCommunicator) else comm
