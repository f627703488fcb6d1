"""Double buffering: the next block travels while this one is used.

    for block_nG in pipeline(blocks, lambda block: comm.start_all_to_all(block), device):
        ...

Two blocks are in memory at a time.  On a GPU the transfers, with the packing before and after them, run on a stream of
their own, beside the kernels that the loop's body queues.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

import torch

from eigenwerk.parallel.communicator import Handle
from eigenwerk.parallel.side_stream import SideStream

Block = TypeVar("Block")
Result = TypeVar("Result")

CPU = torch.device("cpu")


def pipeline(
    blocks: Iterable[Block], start: Callable[[Block], Handle[Result]], device: torch.device = CPU
) -> Iterator[Result]:
    """The results of `start(block).wait()` in the order of blocks; each is started before the one before it is used.

    device: where the loop's body works and the results lie.  Ranks that run the same loop start the same transfers in
    the same order.
    """
    side = SideStream(device)
    running = None
    for block in blocks:
        arrived = None if running is None else (side.wait(running[1]),)
        # the block is held until it has arrived: its memory is read beside
        running = (block, side.start(partial(start, block)))
        if arrived is not None:
            yield arrived[0]
            del arrived  # so that no more than two blocks are alive
    if running is not None:
        yield side.wait(running[1])
