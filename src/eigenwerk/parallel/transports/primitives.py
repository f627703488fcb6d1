"""What a transport must be able to do.

It moves flat runs of plain numbers (see `wire`), all in the same order on all ranks; `transport` makes verbs of it.
"""

from abc import abstractmethod
from collections.abc import Sequence

import torch

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.links import Links
from eigenwerk.parallel.transports.pending import Operation, Pending, PendingReduction


class Primitives(Communicator):
    """The methods that begin with `_` are for the modules of this folder only."""

    takes_threads = True
    """Whether several threads may call communicators of this transport at the same time, each its own."""

    _stream_ordered = False
    """Whether transfers between devices wait in the queue of the device, and not on the host."""

    @abstractmethod
    def _reaches(self, device: torch.device) -> bool:
        """Whether memory of this device travels without a stop in host memory.  Always true for the host."""

    def _reduces_on(self, device: torch.device) -> bool:
        """Whether reductions take memory of this device."""
        return self._reaches(device)

    @abstractmethod
    def _all_reduce(self, flat: torch.Tensor, operation: Operation) -> Pending:
        """In place, the same bits on every rank."""

    @abstractmethod
    def _reduce(self, flat: torch.Tensor, operation: Operation, root: int) -> Pending:
        """In place on the root; what the others' arrays hold afterwards does not matter."""

    @abstractmethod
    def _broadcast(self, flat: torch.Tensor, root: int) -> Pending:
        """In place."""

    @abstractmethod
    def _all_gather(self, out: torch.Tensor, flat: torch.Tensor, counts: Sequence[int]) -> Pending:
        """Join runs of `counts` numbers."""

    @abstractmethod
    def _all_to_all(
        self, out: torch.Tensor, flat: torch.Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> Pending:
        """Runs of `counts` numbers to each rank, of `out_counts` numbers from each; any of them may be 0."""

    @abstractmethod
    def _send(self, flat: torch.Tensor, to: int) -> Pending:
        """To be received there."""

    @abstractmethod
    def _receive(self, flat: torch.Tensor, source: int) -> Pending:
        """Into `flat`."""

    @abstractmethod
    def _swap(self, flat: torch.Tensor, to: int, out: torch.Tensor, source: int) -> Pending:
        """Send one and receive the other at the same time."""

    @abstractmethod
    def _child(self, members: Sequence[int], label: str, name: str, links: Links | None = None) -> "Primitives":
        """The communicator of these ranks of this one, in this order; `label` is theirs and never used twice."""

    def _all_reduce_now(self, flat: torch.Tensor, operation: Operation) -> None:
        """The same without a way to wait later, where that is faster."""
        self._all_reduce(flat, operation).wait()

    def _reduce_scatter(self, out: torch.Tensor, flat: torch.Tensor, operation: Operation) -> Pending:
        """Reduce, and keep the part of this rank; unless the transport has its own, parts are added by rank."""
        parts_px = torch.empty_like(flat)
        counts = [out.numel()] * self.size
        return PendingReduction(self._all_to_all(parts_px, flat, counts, counts), parts_px, out, operation)
