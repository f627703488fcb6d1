"""Double buffering: the next block travels while this one is used.

    for block_nG in pipeline(blocks, lambda block: comm.start_all_to_all(block), device):
        ...

Two blocks are in memory at a time.  On a GPU the transfers, with the packing before and after them, run on a stream of
their own, beside the kernels that the loop's body queues.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import cache
from typing import TypeVar

import torch

from eigenwerk.parallel.handle import Handle

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
    side = _SideStream(device)
    running = None
    for block in blocks:
        arrived = None if running is None else (side.wait(*running),)
        running = (block, side.start(start, block))
        if arrived is not None:
            yield arrived[0]
            del arrived  # so that no more than two blocks are alive
    if running is not None:
        yield side.wait(*running)


class _SideStream:
    """Where transfers run: a stream beside the current one on a GPU, the one and only line of work elsewhere."""

    def __init__(self, device: torch.device):
        self._stream = side_stream(device) if device.type == "cuda" else None

    def start(self, start: Callable[[Block], Handle[Result]], block: Block) -> Handle[Result]:
        """Start when the work queued so far, of which the block may be a result, is done."""
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))
        with self._beside():
            return start(block)

    def wait(self, block: Block, handle: Handle[Result]) -> Result:
        """The result, for work queued from now on.  The block is held until here: its memory is read beside."""
        with self._beside():
            result = handle.wait()
        if self._stream is not None:
            current = torch.cuda.current_stream(self._stream.device)
            current.wait_stream(self._stream)
            _mark(result, current)
        return result

    def _beside(self) -> torch.cuda.StreamContext | nullcontext[None]:
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)


@cache
def side_stream(device: torch.device) -> torch.cuda.Stream:
    """The stream for transfers of a GPU, which goes before queued kernels; always the same one."""
    return torch.cuda.Stream(device, priority=-1)


def _mark(result: object, stream: torch.cuda.Stream) -> None:
    """The stream uses these tensors, so their memory must not go elsewhere before it has done so."""
    if isinstance(result, torch.Tensor):
        result.record_stream(stream)
    elif isinstance(result, list | tuple):
        for part in result:
            _mark(part, stream)
