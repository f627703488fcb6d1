"""Blocks of all ranks that go round, so that every rank works with each of them: the next one travels meanwhile.

    for rank, block_x in ring(comm, own_x, shape_p, trace, "orbitals of other ranks"):
        ...                                                 # first the own block, then those of ranks before this one

Each rank gives what it has in hand to the next rank and takes the block of the one before it.  Two buffers hold what
has come and what is coming: a transfer starts when the block it sends is there and the work with the block before,
whose buffer it fills, is done.  On a GPU it runs on a stream of its own, which waits for these two and nothing else.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod

import torch

from eigenwerk.parallel.communicator import Communicator
from eigenwerk.parallel.side_stream import SideStream
from eigenwerk.trace import Trace


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
