"""A communicator on top of another one, from which it takes all that it does not do in its own way."""

from abc import abstractmethod
from collections.abc import Sequence

import torch

from eigenwerk.parallel.links import Links
from eigenwerk.parallel.transports.pending import Operation, Pending
from eigenwerk.parallel.transports.transport import TransportCommunicator


class LayeredCommunicator(TransportCommunicator):
    """The same ranks as `inner`.  Its calls are recorded under its own name of the transport, those below are not."""

    def __init__(self, inner: TransportCommunicator, transport: str, difference: str):
        super().__init__(inner.rank, inner.world_ranks, inner.name, inner.trace)
        self._inner, self._stream_ordered, self.takes_threads = inner, inner._stream_ordered, inner.takes_threads
        self.transport, self.difference = transport, difference
        self.path = f"{inner.path}; {difference}"

    def check_device(self, device: torch.device) -> None:
        """InputError if the layer makes no difference for arrays there."""

    @abstractmethod
    def _rewrapped(self, inner: TransportCommunicator) -> TransportCommunicator:
        """The same layer on another communicator."""

    def _reaches(self, device: torch.device) -> bool:
        return self._inner._reaches(device)

    def _all_reduce(self, flat: torch.Tensor, operation: Operation) -> Pending:
        return self._inner._all_reduce(flat, operation)

    def _reduce(self, flat: torch.Tensor, operation: Operation, root: int) -> Pending:
        return self._inner._reduce(flat, operation, root)

    def _reduce_scatter(self, out: torch.Tensor, flat: torch.Tensor, operation: Operation) -> Pending:
        return self._inner._reduce_scatter(out, flat, operation)

    def _broadcast(self, flat: torch.Tensor, root: int) -> Pending:
        return self._inner._broadcast(flat, root)

    def _all_gather(self, out: torch.Tensor, flat: torch.Tensor, counts: Sequence[int]) -> Pending:
        return self._inner._all_gather(out, flat, counts)

    def _all_to_all(
        self, out: torch.Tensor, flat: torch.Tensor, out_counts: Sequence[int], counts: Sequence[int]
    ) -> Pending:
        return self._inner._all_to_all(out, flat, out_counts, counts)

    def _send(self, flat: torch.Tensor, to: int) -> Pending:
        return self._inner._send(flat, to)

    def _receive(self, flat: torch.Tensor, source: int) -> Pending:
        return self._inner._receive(flat, source)

    def _swap(self, flat: torch.Tensor, to: int, out: torch.Tensor, source: int) -> Pending:
        return self._inner._swap(flat, to, out, source)

    def _child(
        self, members: Sequence[int], label: str, name: str, links: Links | None = None
    ) -> TransportCommunicator:
        return self._rewrapped(self._inner._child(members, label, name, links))

    def _count_splits(self) -> int:
        return self._inner._count_splits()

    def close(self) -> None:
        """Closes the communicator below as well."""
        super().close()
        self._inner.close()
