"""How ranks exchange arrays: the one interface that all of eigenwerk uses.

Physics calls these verbs whatever the number of ranks; with one rank they give back what they got,
so no code asks whether there is more than one.  The verbs are blocking and collective: every rank of
the communicator calls the same verbs in the same order.  Implementations that move data record each
call in a trace (name, bytes, seconds).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch


class Communicator(ABC):
    """A group of ranks 0 ... size-1, of which this process is `rank`.

    Arrays are given away: a result may use the memory of the argument, so go on with the result and do not
    read or write the argument again.  Shapes and dtypes agree on all ranks unless a verb says otherwise.
    Results are the same bits on every rank, so decisions taken from them agree.
    """

    rank: int
    size: int

    @abstractmethod
    def sum(self, array_x: torch.Tensor) -> torch.Tensor:
        """The sum over ranks, on every rank.  Real, complex or integer; any shape."""

    @abstractmethod
    def max(self, array_x: torch.Tensor) -> torch.Tensor:
        """The elementwise maximum over ranks, on every rank.  Real or integer; any shape."""

    @abstractmethod
    def broadcast(self, array_x: torch.Tensor, root: int = 0) -> torch.Tensor:
        """The array of rank `root`, on every rank; the others' arrays give shape and dtype only."""

    @abstractmethod
    def gather(self, array_x: torch.Tensor) -> torch.Tensor:
        """All ranks' arrays joined along the first axis in the order of ranks, on every rank.

        Lengths of the first axis may differ between ranks, the other axes agree.
        """

    @abstractmethod
    def exchange(self, arrays_p: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """All-to-all: entry p goes to rank p; entry p of the result came from rank p.  Shapes may differ."""

    @abstractmethod
    def split(self, color: int, key: int = 0) -> "Communicator":
        """The communicator of the ranks that gave the same `color`, ordered by `key`, then by rank."""

    @abstractmethod
    def barrier(self) -> None:
        """Returns when every rank has called it."""

    def all(self, flag: bool) -> bool:
        """Whether the flag is true on every rank; the way to take a decision together."""
        return not self.any(not flag)

    def any(self, flag: bool) -> bool:
        """Whether the flag is true on at least one rank."""
        return bool(self.max(torch.tensor(int(flag))).item())
