"""The communicator of one rank: every verb gives back what it got."""

from collections.abc import Sequence

import torch

from eigenwerk.parallel.communicator import Communicator


class SerialCommunicator(Communicator):
    """One rank alone.  No copies, no traffic, nothing to record."""

    rank = 0
    size = 1

    def sum(self, array_x: torch.Tensor) -> torch.Tensor:
        """The array itself."""
        return array_x

    def max(self, array_x: torch.Tensor) -> torch.Tensor:
        """The array itself."""
        return array_x

    def broadcast(self, array_x: torch.Tensor, root: int = 0) -> torch.Tensor:
        """The array itself.  ValueError if root is not 0, as it would be on more ranks."""
        if root != 0:
            raise ValueError(f"broadcast from rank {root}, but the communicator has rank 0 only")
        return array_x

    def gather(self, array_x: torch.Tensor) -> torch.Tensor:
        """The array itself."""
        return array_x

    def exchange(self, arrays_p: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The one array, for rank 0 from rank 0.  ValueError if there is not exactly one."""
        if len(arrays_p) != 1:
            raise ValueError(f"exchange of {len(arrays_p)} arrays, but the communicator has one rank")
        return list(arrays_p)

    def split(self, color: int, key: int = 0) -> Communicator:
        """A communicator of this one rank again."""
        return self

    def barrier(self) -> None:
        """Nobody to wait for."""
