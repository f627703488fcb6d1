"""Blocks of all ranks that go round, so that every rank works with each of them: the next one travels meanwhile.

    for rank, block_x in ring(comm, own_x, shape_p, trace, "orbitals of other ranks"):
        ...                                                 # first the own block, then those of ranks before this one

Each rank gives what it has in hand to the next rank and takes the block of the one before it.  Two buffers hold what
has come and what is coming: a transfer starts when the block it sends is there and the work with the block before,
whose buffer it fills, is done.  On a GPU it runs on a stream of its own, which waits for these two and nothing else.
What ranks make of the blocks of others can go back to these (`WayBack`), in the same way.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod

import torch

from eigenwerk.parallel.communicator import Communicator, Handle
from eigenwerk.parallel.side_stream import SideStream
from eigenwerk.record.trace import Trace


def ring(
    comm: Communicator, own_x: torch.Tensor, shape_p: Sequence[Sequence[int]], trace: Trace, name: str
) -> Iterator[tuple[int, torch.Tensor]]:
    """(rank, its block), the own one first; collective, and every rank has to go to the end.

    shape_p: of the blocks of all ranks, whose dtypes agree; no block is empty.  A block is not to be written to, and
    not to be used after the next one was asked for.  name: of the span for the time in which transfers were waited for.
    """
    size, to, source = comm.size, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    side = SideStream(own_x.device)
    others = [prod(shape) for rank, shape in enumerate(shape_p) if rank != comm.rank]
    buffers = [own_x.new_empty(max(others)) for _ in range(min(2, len(others)))]
    block_x = own_x.contiguous()
    for step in range(size):
        owner = (comm.rank - step) % size
        if step == size - 1:
            yield owner, block_x
            return
        shape = shape_p[(owner - 1) % size]
        into_x = buffers[step % 2][: prod(shape)].view(*shape)
        # what was queued until here: of the last block all work, of this one nothing
        running = side.start(partial(comm.start_swap, block_x, to, into_x, source, watched=True), side.mark())
        yield owner, block_x
        with trace.span(name):
            block_x = side.wait(running)


class WayBack:
    """What ranks make of each other's blocks, back to those whose blocks they are: beside other work, one at a time.

    back = WayBack(comm, zero_x, trace, name)
    for owner, block_x in ring(...):
        ...
        back.start(owner, made_x)                           # all ranks for the blocks of the same steps
    back.finish()
    back.total_x                                            # what all others have made of the own block
    """

    def __init__(self, comm: Communicator, zero_x: torch.Tensor, trace: Trace, name: str):
        """zero_x: of the shape of the own block; name: of the span for the time in which transfers were waited for."""
        self.comm, self.total_x, self.trace, self.name = comm, zero_x, trace, name
        self._side = SideStream(zero_x.device)
        self._running: Handle[torch.Tensor] | None = None
        self._into_x: torch.Tensor | None = None

    def start(self, owner: int, made_x: torch.Tensor) -> None:
        """Collective: to the owner of a block, and take what the rank as far on the other side has made of the own."""
        self.finish()
        source = (2 * self.comm.rank - owner) % self.comm.size
        if self._into_x is None:
            self._into_x = torch.empty_like(self.total_x)
        swap = partial(self.comm.start_swap, made_x.contiguous(), owner, self._into_x, source, watched=True)
        self._running = self._side.start(swap, self._side.mark())

    def finish(self) -> None:
        """Wait for what is on its way, and add it."""
        if self._running is not None:
            with self.trace.span(self.name):
                self.total_x += self._side.wait(self._running)
            self._running = None
