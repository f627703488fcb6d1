"""The communicator of one rank: every verb gives back what it got."""

from collections.abc import Sequence

import torch

from eigenwerk.parallel.communicator import Communicator, Handle, Ready
from eigenwerk.parallel.links import Links


class SerialCommunicator(Communicator):
    """One rank alone.  No copies, no traffic, nothing to record."""

    rank = 0
    size = 1
    transport = "serial"
    path = "one rank: nothing travels"

    def __init__(self, name: str = "world", world_rank: int = 0):
        self.name = name
        self.world_ranks = (world_rank,)

    def max(self, array_x: torch.Tensor) -> torch.Tensor:
        """The array itself."""
        return array_x

    def gather(self, array_x: torch.Tensor, root: int = 0, lengths: Sequence[int] | None = None) -> torch.Tensor | None:
        """The array itself."""
        return self._from(root, array_x)

    def start_sum(self, array_x: torch.Tensor) -> Handle[torch.Tensor]:
        """The array itself."""
        return Ready(array_x)

    def start_reduce(self, array_x: torch.Tensor, root: int = 0) -> Handle[torch.Tensor | None]:
        """The array itself."""
        return Ready(self._from(root, array_x))

    def start_reduce_scatter(self, array_px: torch.Tensor) -> Handle[torch.Tensor]:
        """The one entry.  ValueError if there is not exactly one."""
        return Ready(self._single(array_px)[0])

    def start_broadcast(self, array_x: torch.Tensor, root: int = 0) -> Handle[torch.Tensor]:
        """The array itself.  ValueError if root is not 0, as it would be on more ranks."""
        return Ready(self._from(root, array_x))

    def start_all_gather(self, array_x: torch.Tensor, lengths: Sequence[int] | None = None) -> Handle[torch.Tensor]:
        """The array itself."""
        return Ready(array_x)

    def start_all_to_all(self, array_px: torch.Tensor) -> Handle[torch.Tensor]:
        """The array itself.  ValueError if it does not have exactly one entry."""
        return Ready(self._single(array_px))

    def start_exchange(
        self, arrays_p: Sequence[torch.Tensor], shapes_p: Sequence[Sequence[int]] | None = None
    ) -> Handle[list[torch.Tensor]]:
        """The one array, for rank 0 from rank 0.  ValueError if there is not exactly one."""
        if len(arrays_p) != 1:
            raise ValueError(f"exchange of {len(arrays_p)} arrays, but the communicator has one rank")
        return Ready(list(arrays_p))

    def start_send(self, array_x: torch.Tensor, to: int) -> Handle[None]:
        """ValueError: there is no other rank."""
        raise ValueError(f"send to rank {to}, but the communicator has one rank")

    def start_receive(self, like_x: torch.Tensor, source: int) -> Handle[torch.Tensor]:
        """ValueError: there is no other rank."""
        raise ValueError(f"receive from rank {source}, but the communicator has one rank")

    def start_swap(
        self, array_x: torch.Tensor, to: int, like_x: torch.Tensor, source: int, watched: bool = False
    ) -> Handle[torch.Tensor]:
        """The array itself, sent to oneself.  ValueError for another rank."""
        return Ready(self._from(to or source, array_x))

    def split(self, color: int, key: int = 0, name: str = "", links: Links | None = None) -> Communicator:
        """A communicator of this one rank again."""
        return SerialCommunicator(name or self.name, self.world_ranks[0])

    def barrier(self) -> None:
        """Nobody to wait for."""

    def close(self) -> None:
        """Nothing to let go of."""

    def any(self, flag: bool) -> bool:
        """The flag itself."""
        return flag

    @staticmethod
    def _from(root: int, array_x: torch.Tensor) -> torch.Tensor:
        if root != 0:
            raise ValueError(f"rank {root} does not exist: the communicator has rank 0 only")
        return array_x

    @staticmethod
    def _single(array_px: torch.Tensor) -> torch.Tensor:
        if len(array_px) != 1:
            raise ValueError(f"{len(array_px)} entries for one rank")
        return array_px


ALONE = SerialCommunicator()
"""For work that may be shared out and is not."""
