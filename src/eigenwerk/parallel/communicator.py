"""How ranks exchange arrays: the one interface that all of eigenwerk uses.

Physics calls these verbs whatever the number of ranks; with one rank they give back what they got,
so no code asks whether there is more than one.  The verbs are collective: every rank of the
communicator calls the same verbs in the same order.  Each verb blocks; those that begin with `start_`
return a `Handle` at once, and its `wait` gives the result.  Implementations that move data record each
call in a trace (verb, bytes, seconds).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import torch

from eigenwerk.parallel.links import Links

Result = TypeVar("Result", covariant=True)


class Handle(Protocol[Result]):
    """What a verb that does not wait returns."""

    def wait(self) -> Result:
        """The result, when it is there.

        On a device: work queued after `wait` finds it there, on the stream on which the verb was started.
        """
        ...


class Ready(Generic[Result]):
    """A result that was there at once."""

    def __init__(self, result: Result):
        self._result = result

    def wait(self) -> Result:
        """The result."""
        return self._result


class Communicator(ABC):
    """A group of ranks 0 ... size-1, of which this process is `rank`.

    Arrays are given away: a result may use the memory of the argument, so go on with the result and do not
    read or write the argument again (until `wait`, for verbs that start).  Shapes and dtypes agree on all
    ranks unless a verb says otherwise; any shape, contiguous or not; real, complex, integer or bool.
    Results are the same bits on every rank that gets them, so decisions taken from them agree.

    name: what the group is ("world", "bands", "kpoints"), for traces; transport: how it moves data
    ("serial", "nccl", "gloo", "mpi", ...); path: the way of the data in words, for the log; world_ranks: the rank of
    each member in the whole run.
    """

    rank: int
    size: int
    name: str
    transport: str
    path: str
    world_ranks: tuple[int, ...]

    # -- sums and maxima ------------------------------------------------------------------------------------

    def sum(self, array_x: torch.Tensor) -> torch.Tensor:
        """The sum over ranks, on every rank."""
        return self.start_sum(array_x).wait()

    @abstractmethod
    def max(self, array_x: torch.Tensor) -> torch.Tensor:
        """The elementwise maximum over ranks, on every rank.  Real, integer or bool."""

    def reduce(self, array_x: torch.Tensor, root: int = 0) -> torch.Tensor | None:
        """The sum over ranks, on rank `root`; None elsewhere."""
        return self.start_reduce(array_x, root).wait()

    def reduce_scatter(self, array_px: torch.Tensor) -> torch.Tensor:
        """Entry `rank` of the sum over ranks; (p, ...) with p = size -> (...)."""
        return self.start_reduce_scatter(array_px).wait()

    # -- copies ---------------------------------------------------------------------------------------------

    def broadcast(self, array_x: torch.Tensor, root: int = 0) -> torch.Tensor:
        """The array of rank `root`, on every rank; the others' arrays give shape and dtype only."""
        return self.start_broadcast(array_x, root).wait()

    def all_gather(self, array_x: torch.Tensor, lengths: Sequence[int] | None = None) -> torch.Tensor:
        """All ranks' arrays joined along the first axis in the order of ranks, on every rank.

        Lengths of the first axis may differ between ranks, the other axes agree.  Who knows the lengths of all ranks
        gives them; otherwise they are exchanged first, which costs a short message.
        """
        return self.start_all_gather(array_x, lengths).wait()

    @abstractmethod
    def gather(self, array_x: torch.Tensor, root: int = 0, lengths: Sequence[int] | None = None) -> torch.Tensor | None:
        """`all_gather` for rank `root` alone; None elsewhere."""

    def all_to_all(self, array_px: torch.Tensor) -> torch.Tensor:
        """Entry p goes to rank p, entry p of the result came from rank p; (p, ...) -> (p, ...) of the same shape."""
        return self.start_all_to_all(array_px).wait()

    def exchange(
        self, arrays_p: Sequence[torch.Tensor], shapes_p: Sequence[Sequence[int]] | None = None
    ) -> list[torch.Tensor]:
        """All-to-all with arrays of any shapes, one for each rank; dtypes agree.

        Who knows the shapes of the arrays that come from each rank gives them; otherwise they are exchanged first.
        """
        return self.start_exchange(arrays_p, shapes_p).wait()

    # -- point to point -------------------------------------------------------------------------------------

    def send(self, array_x: torch.Tensor, to: int) -> None:
        """Send to rank `to`, which receives."""
        self.start_send(array_x, to).wait()

    def receive(self, like_x: torch.Tensor, source: int) -> torch.Tensor:
        """What rank `source` sends; `like_x` gives shape, dtype and device and may be overwritten."""
        return self.start_receive(like_x, source).wait()

    def swap(self, array_x: torch.Tensor, to: int, like_x: torch.Tensor, source: int) -> torch.Tensor:
        """Send to one rank and receive from another at the same time, which a send before a receive cannot promise.

        The dtypes agree, shapes and partners may differ; `like_x` as in `receive`, not the memory of `array_x`.
        """
        return self.start_swap(array_x, to, like_x, source).wait()

    # -- the same without waiting ---------------------------------------------------------------------------

    @abstractmethod
    def start_sum(self, array_x: torch.Tensor) -> Handle[torch.Tensor]:
        """`sum`, later."""

    @abstractmethod
    def start_reduce(self, array_x: torch.Tensor, root: int = 0) -> Handle[torch.Tensor | None]:
        """`reduce`, later."""

    @abstractmethod
    def start_reduce_scatter(self, array_px: torch.Tensor) -> Handle[torch.Tensor]:
        """`reduce_scatter`, later."""

    @abstractmethod
    def start_broadcast(self, array_x: torch.Tensor, root: int = 0) -> Handle[torch.Tensor]:
        """`broadcast`, later."""

    @abstractmethod
    def start_all_gather(self, array_x: torch.Tensor, lengths: Sequence[int] | None = None) -> Handle[torch.Tensor]:
        """`all_gather`, later."""

    @abstractmethod
    def start_all_to_all(self, array_px: torch.Tensor) -> Handle[torch.Tensor]:
        """`all_to_all`, later."""

    @abstractmethod
    def start_exchange(
        self, arrays_p: Sequence[torch.Tensor], shapes_p: Sequence[Sequence[int]] | None = None
    ) -> Handle[list[torch.Tensor]]:
        """`exchange`, later."""

    @abstractmethod
    def start_send(self, array_x: torch.Tensor, to: int) -> Handle[None]:
        """`send`, later.  NCCL does what it gets one after the other: two ranks that both send first need `swap`."""

    @abstractmethod
    def start_receive(self, like_x: torch.Tensor, source: int) -> Handle[torch.Tensor]:
        """`receive`, later."""

    @abstractmethod
    def start_swap(
        self, array_x: torch.Tensor, to: int, like_x: torch.Tensor, source: int, watched: bool = False
    ) -> Handle[torch.Tensor]:
        """`swap`, later.

        watched: the trace is to know for how long the data were on their way.  In host memory a thread waits for them
        then, which also keeps MPI going, whose messages move only while somebody asks for them.
        """

    # -- groups and agreement -------------------------------------------------------------------------------

    @abstractmethod
    def split(self, color: int, key: int = 0, name: str = "", links: Links | None = None) -> "Communicator":
        """The communicator of the ranks that gave the same `color`, ordered by `key`, then by rank.

        links: how its transfers share a GPU with kernels, where the transport has a choice; None for that of this one.
        """

    @abstractmethod
    def barrier(self) -> None:
        """Returns when every rank has called it."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections and device resources; collective, last of all, and harmless when repeated."""

    @abstractmethod
    def any(self, flag: bool) -> bool:
        """Whether the flag is true on at least one rank: the way to take a decision together."""

    def all(self, flag: bool) -> bool:
        """Whether the flag is true on every rank."""
        return not self.any(not flag)
